package sandbox

import (
	"encoding/json"
	"fmt"
	"net"

	"github.com/flowrun/flowrun/plugins/mail/mailsim"
)

// startMail starts the server that takes mail and delivers none, and beside it the page of
// what it took: its service has the address of that page.
func (s *Sandbox) startMail(o Options) error {
	page, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the messages of the sandbox: %w", err)
	}
	takes, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_ = page.Close() // nobody was served
		return fmt.Errorf("listen for the mail of the sandbox: %w", err)
	}
	s.mail = mailsim.New(mailsim.Options{Requests: rateRequests, Window: o.Window, Now: o.Now, UTF8: true})
	go func() { _ = s.mail.Serve(takes) }() // ends with Close
	s.serve(page, s.mail)
	config, _ := json.Marshal(map[string]any{ // of texts and numbers
		"host": "127.0.0.1", "port": takes.Addr().(*net.TCPAddr).Port, "security": "none", "private": true, "from": "sandbox@example.com",
	})
	s.services = append(s.services, Service{
		Plugin: "mail", Config: config, Keep: []string{"from", "to", "senders", "envelope_from", "reply_to", "recipients", "max_bytes"}, Rate: s.rate, URL: "http://" + page.Addr().String(),
	})
	return nil
}

// Mail is the address at which the messages of the sandbox can be read.
func (s *Sandbox) Mail() string {
	for _, service := range s.services {
		if service.Plugin == "mail" {
			return service.URL + "/messages"
		}
	}
	return ""
}
