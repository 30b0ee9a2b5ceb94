// Command flowrun-plugin-billing wraps a billing service that wants OAuth 2.0 client
// credentials: a paged list that goes on where the last run ended, a charge under an
// idempotency key, and a payout that is looked for when its answer was lost.
package main

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type config struct {
	sdk.HTTPSettings
	ClientID     string `json:"client_id" doc:"OAuth client" min:"1"`
	ClientSecret string `json:"client_secret" doc:"Its secret" secret:"true" min:"1"`
	TokenURL     string `json:"token_url,omitempty" doc:"Token endpoint; default base_url/oauth/token" format:"uri"`
}

// service is the HTTP client with an access token, which is renewed when it has to be.
func service(c *sdk.Call[config]) *sdk.HTTPClient { return c.HTTP().WithGrant(grant(c.Config)) }

func grant(config config) sdk.Grant {
	return sdk.ClientCredentials{
		TokenURL: cmp.Or(config.TokenURL, "/oauth/token"), ClientID: config.ClientID, ClientSecret: config.ClientSecret,
	}
}

func do(c *sdk.Call[config], request *sdk.Request, into any) error {
	response, err := service(c).Do(request)
	if err != nil {
		return err
	}
	return response.JSON(into)
}

type invoice struct {
	ID       string     `json:"id"`
	Seq      int        `json:"seq"`
	Amount   int        `json:"amount" doc:"Cents"`
	Customer string     `json:"customer"`
	PaidAt   *time.Time `json:"paid_at" doc:"Absent until it is paid"`
}

type invoicesIn struct {
	Cursor   string `json:"cursor,omitempty" doc:"Page to begin with"`
	Customer string `json:"customer,omitempty" doc:"Only theirs"`
}

type invoicesOut struct {
	Invoices []invoice `json:"invoices"`
	Next     string    `json:"next" doc:"Cursor of the next page"`
}

func invoices(c *sdk.Call[config], in invoicesIn) (out invoicesOut, err error) {
	query := url.Values{}
	if len(c.Watermark()) > 0 {
		query.Set("since", string(c.Watermark()))
	}
	cursor := c.PageCursor()
	if cursor == "" {
		cursor = in.Cursor
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	if err := do(c, &sdk.Request{Path: "/v1/invoices", Query: query}, &out); err != nil {
		return out, err
	}
	c.Next(out.Next)
	if n := len(out.Invoices); n > 0 {
		c.SetWatermark([]byte(strconv.Itoa(out.Invoices[n-1].Seq)))
	}
	return out, nil
}

type chargeIn struct {
	Customer string `json:"customer" doc:"Who pays" min:"1"`
	Amount   int    `json:"amount" doc:"Cents" min:"1" max:"1000000"`
	Currency string `json:"currency" enum:"eur,usd" default:"eur"`
}

type chargeOut struct {
	ID        string    `json:"id"`
	Amount    int       `json:"amount"`
	CreatedAt time.Time `json:"created_at"`
}

func charge(c *sdk.Call[config], in chargeIn) (out chargeOut, err error) {
	err = do(c, &sdk.Request{Path: "/v1/charges", JSON: in, Classify: declined}, &out)
	return out, err
}

func declined(r *sdk.Response) error {
	if r.Status != http.StatusPaymentRequired {
		return nil
	}
	return r.Fail(sdk.CodeConflict, "the card was declined").WithReason("card_declined").WithHint("ask the customer for another card")
}

type payoutIn struct {
	Reference string `json:"reference" doc:"Yours, unique" min:"1" max:"64" pattern:"^[a-z0-9-]+$"`
	Amount    int    `json:"amount" min:"1"`
	IBAN      string `json:"iban" secret:"true"`
}

type payoutOut struct {
	ID        string `json:"id"`
	Reference string `json:"reference"`
}

func payout(c *sdk.Call[config], in payoutIn) (out payoutOut, err error) {
	err = do(c, &sdk.Request{Path: "/v1/payouts", JSON: in}, &out)
	return out, err
}

func findPayout(c *sdk.Call[config], in payoutIn) (answer sdk.Reconciled[payoutOut], err error) {
	var found struct {
		Payouts []payoutOut `json:"payouts"`
	}
	if err := do(c, &sdk.Request{Path: "/v1/payouts", Query: url.Values{"reference": {in.Reference}}}, &found); err != nil {
		return answer, err
	}
	if len(found.Payouts) == 0 {
		return sdk.Reconciled[payoutOut]{Applied: sdk.NotApplied}, nil
	}
	return sdk.Reconciled[payoutOut]{Applied: sdk.AppliedFully, Output: &found.Payouts[0], Note: "found by its reference"}, nil
}

type keyIn struct {
	Name string `json:"name" min:"1"`
}

type keyOut struct {
	ID     string `json:"id"`
	Secret string `json:"secret" secret:"true"`
	Prefix string `json:"prefix"`
}

func newKey(c *sdk.Call[config], in keyIn) (out keyOut, err error) {
	err = do(c, &sdk.Request{Path: "/v1/keys", JSON: in}, &out)
	return out, err
}

func checkPayout(in payoutIn, unknown []string) []sdk.Problem {
	if in.Amount > 100_000 && len(unknown) == 0 {
		return []sdk.Problem{sdk.Warningf("/amount", "more than 1000.00 goes out at once").WithDetail("split it")}
	}
	return nil
}

func plugin() *sdk.Plugin {
	return sdk.New("billing", "0.2.0", "Invoices, charges and payouts",
		sdk.Limit("api", 50, time.Second, sdk.Scope("base_url", "client_id")),
		sdk.Limit("payouts", 2, 10*time.Second, sdk.FixedWindow()),
		sdk.UsesState(),
		sdk.CheckConnection(func(c *sdk.Call[config]) (string, error) {
			_, err := c.TokenOf(grant(c.Config))
			return c.Config.ClientID, err
		}),
		sdk.Read("invoices", "List invoices", invoices, sdk.Paged("cursor", "invoices", "next"), sdk.Incremental(), sdk.Limits("api")),
		sdk.Keyed("charge", "Charge a customer", charge, sdk.Limits("api"), sdk.Timeout(20*time.Second),
			sdk.Fault(sdk.CodeConflict, "card_declined", "The card was declined")),
		sdk.Once("payout", "Send money", payout, sdk.Limits("api", "payouts"), sdk.ReconcileWith(findPayout), sdk.ValidateWith(checkPayout)),
		sdk.Once("new_key", "Make an API key", newKey, sdk.Limits("api")),
	)
}

func main() { plugin().Serve() }
