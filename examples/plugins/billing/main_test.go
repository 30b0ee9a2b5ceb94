package main

import (
	"net/http/httptest"
	"testing"

	"example.com/flowrun-plugin-billing/sim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func open(t *testing.T, secret string) (*sdktest.Plugin, *sim.Service) {
	t.Helper()
	service := sim.New(120)
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	return sdktest.Open(t, plugin(), map[string]any{"base_url": server.URL, "client_id": sim.ClientID, "client_secret": secret}), service
}

func TestAllPagesWithOneToken(t *testing.T) {
	billing, service := open(t, sim.ClientSecret)
	cursor, read := "", 0
	for pages := 1; ; pages++ {
		var out invoicesOut
		result := billing.Call("invoices", invoicesIn{}, sdktest.Page(cursor))
		result.Decode(t, &out)
		read += len(out.Invoices)
		if cursor = result.Next; cursor == "" {
			if pages != 3 || string(result.Watermark) != "120" {
				t.Errorf("%d pages, watermark %s", pages, result.Watermark)
			}
			break
		}
	}
	if read != 120 || service.Tokens() != 1 {
		t.Errorf("%d invoices with %d tokens", read, service.Tokens())
	}
}

func TestARefusedTokenIsRenewedOnce(t *testing.T) {
	billing, service := open(t, sim.ClientSecret)
	billing.Call("invoices", invoicesIn{}).Decode(t, &invoicesOut{})
	service.Expire = true
	var charged chargeOut
	billing.Call("charge", chargeIn{Customer: "c1", Amount: 100, Currency: "eur"}).Decode(t, &charged)
	if charged.ID != "ch_1" || service.Tokens() != 2 {
		t.Errorf("charge %s with %d tokens", charged.ID, service.Tokens())
	}
}

func TestAWrongSecret(t *testing.T) {
	billing, _ := open(t, "wrong")
	if _, failure := billing.CheckConnection(); failure == nil || failure.Code != sdk.CodeUnauthorized || failure.Reason != "invalid_client" {
		t.Errorf("the connection's test says %v", failure)
	}
}

func TestADeclinedCard(t *testing.T) {
	billing, _ := open(t, sim.ClientSecret)
	failure := billing.Call("charge", chargeIn{Customer: "c1", Amount: 9001, Currency: "eur"}).Err
	if failure == nil || failure.Code != sdk.CodeConflict || failure.Reason != "card_declined" || failure.Applied != sdk.NotApplied {
		t.Errorf("got %v", failure)
	}
}

func TestALostPayoutIsFound(t *testing.T) {
	billing, service := open(t, sim.ClientSecret)
	payout := payoutIn{Reference: "r-1", Amount: 5, IBAN: "DE00"}
	if found := billing.Reconcile("payout", payout); found.Applied != sdk.NotApplied {
		t.Errorf("before: %+v", found)
	}
	service.HangPayout = true
	if failure := billing.Call("payout", payout).Err; failure == nil || failure.Applied != sdk.AppliedUnknown {
		t.Fatalf("an answer that was lost: %v", failure)
	}
	if found := billing.Reconcile("payout", payout); found.Applied != sdk.AppliedFully || service.Payouts() != 1 {
		t.Errorf("after: %+v, %d payouts", found, service.Payouts())
	}
}
