// Package sim stands for the billing service.
package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Client credentials that the service takes.
const (
	ClientID     = "me"
	ClientSecret = "s3cret-s3cret"
)

const pageSize = 50

// Service is the service. What a test changes it changes before the next request.
type Service struct {
	Invoices   int  // how many there are
	HangPayout bool // make the next payout, then hang up
	Expire     bool // refuse the next request's token

	mu      sync.Mutex
	tokens  int
	payouts int
	charged map[string]any // by idempotency key
	paid    map[string]any // by reference
}

// New returns a service with a number of invoices.
func New(invoices int) *Service {
	return &Service{Invoices: invoices, charged: map[string]any{}, paid: map[string]any{}}
}

// Tokens returns how many tokens were given.
func (s *Service) Tokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens
}

// Payouts returns how many payouts were made.
func (s *Service) Payouts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.payouts
}

type object = map[string]any

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/oauth/token" {
		s.token(w, r)
		return
	}
	if r.Header.Get("Authorization") != fmt.Sprintf("Bearer tok-%06d", s.tokens) || s.Expire {
		s.Expire = false
		reply(w, http.StatusUnauthorized, object{"error": "invalid_token"})
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/invoices":
		s.list(w, r)
	case "POST /v1/charges":
		s.charge(w, r)
	case "POST /v1/payouts":
		s.payout(w, r)
	case "GET /v1/payouts":
		found := []any{}
		if payout, ok := s.paid[r.URL.Query().Get("reference")]; ok {
			found = append(found, payout)
		}
		reply(w, http.StatusOK, object{"payouts": found})
	case "POST /v1/keys":
		reply(w, http.StatusCreated, object{"id": "key_1", "secret": "sk_live_0123456789", "prefix": "sk_live"})
	default:
		reply(w, http.StatusNotFound, object{"error": "not_found"})
	}
}

func (s *Service) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if r.FormValue("grant_type") != "client_credentials" || id != ClientID || secret != ClientSecret {
		reply(w, http.StatusUnauthorized, object{"error": "invalid_client"})
		return
	}
	s.tokens++
	reply(w, http.StatusOK, object{"access_token": fmt.Sprintf("tok-%06d", s.tokens), "token_type": "Bearer", "expires_in": 3600})
}

func (s *Service) list(w http.ResponseWriter, r *http.Request) {
	at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	since, _ := strconv.Atoi(r.URL.Query().Get("since"))
	invoices := []any{}
	for at = max(at, since); at < s.Invoices && len(invoices) < pageSize; at++ {
		invoices = append(invoices, object{"id": fmt.Sprintf("inv_%d", at+1), "seq": at + 1, "amount": 100 + at, "paid_at": nil, "customer": "c" + strconv.Itoa(at%7)})
	}
	next := ""
	if at < s.Invoices {
		next = strconv.Itoa(at)
	}
	reply(w, http.StatusOK, object{"invoices": invoices, "next": next})
}

func (s *Service) charge(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	if made, ok := s.charged[key]; ok && key != "" {
		reply(w, http.StatusOK, made)
		return
	}
	var in struct{ Amount int }
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Amount > 9000 {
		reply(w, http.StatusPaymentRequired, object{"error": object{"code": "card_declined", "message": "the card was declined"}})
		return
	}
	s.charged[key] = object{"id": fmt.Sprintf("ch_%d", len(s.charged)+1), "amount": in.Amount, "created_at": time.Unix(1_700_000_000, 0).UTC()}
	reply(w, http.StatusCreated, s.charged[key])
}

func (s *Service) payout(w http.ResponseWriter, r *http.Request) {
	var in struct{ Reference string }
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		reply(w, http.StatusBadRequest, object{"error": "invalid"})
		return
	}
	s.payouts++
	s.paid[in.Reference] = object{"id": fmt.Sprintf("po_%d", s.payouts), "reference": in.Reference}
	if s.HangPayout {
		s.HangPayout = false
		panic(http.ErrAbortHandler)
	}
	reply(w, http.StatusCreated, s.paid[in.Reference])
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
