package jobs

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/plugins/mail/mailsim"
)

// postOffice is a server that takes mail over TLS from who logs in.
func postOffice(t *testing.T, j *job, user, password string) *mailsim.Sim {
	t.Helper()
	certificate, authority, err := authsim.Certificate(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	j.write(t, "ca.pem", string(authority))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sim := mailsim.New(mailsim.Options{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, Users: map[string]string{user: password}})
	served := make(chan error, 1)
	go func() { served <- sim.Serve(listener) }()
	t.Cleanup(func() {
		sim.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	j.instead(t, "flowrun.yaml", "host: smtp.example.com", fmt.Sprintf("host: 127.0.0.1\n      port: %d\n      private: true\n      ca_file: %s/ca.pem", listener.Addr().(*net.TCPAddr).Port, j.dir))
	return sim
}

func weeklyReport(t *testing.T, j *job) {
	shop := serve(t, func(w http.ResponseWriter, r request, _ int) {
		order := func(id, product string, total float64) map[string]any {
			return map[string]any{"id": id, "product": product, "total": total, "note": "more than is read"}
		}
		if strings.Contains(r.Query, "after=p2") {
			answerJSON(w, http.StatusOK, map[string]any{"orders": []any{order("A-3", "=1+1", 5.5)}, "next": nil})
			return
		}
		answerJSON(w, http.StatusOK, map[string]any{"orders": []any{order("A-1", "Kettle", 30), order("A-2", "Cup", 5.5)}, "next": "p2"})
	})
	local(t, j, "https://api.shop.example", shop)
	office := postOffice(t, j, "reports@example.com", "the-password")
	j.environ = []string{"FLOWRUN_SECRET_SHOP_TOKEN=the-token", "FLOWRUN_SECRET_MAIL_PASSWORD=the-password"}
	j.flowrun(t, 0, "connections", "test", "mail")
	// the answer to the whole message is lost once
	if err := office.Kit().Add(simkit.Fault{Method: "MESSAGE", Drop: simkit.DropAfter}); err != nil {
		t.Fatal(err)
	}
	out := j.flowrun(t, 0, "run", "weekly.yaml", "-o", "json")
	kept := office.Messages()
	if len(kept) != 1 || kept[0].Copies != 2 || strings.Join(kept[0].Recipients, " ") != "sales@example.com" || !strings.HasPrefix(kept[0].Subject, "3 orders until ") || !strings.Contains(out, strings.Trim(kept[0].MessageID, "<>")) {
		t.Fatalf("kept %+v\n%s", kept, out)
	}
	m, err := mail.ReadMessage(bytes.NewReader(kept[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	_, boundary, _ := strings.Cut(strings.ReplaceAll(m.Header.Get("Content-Type"), "\n", ""), "boundary=")
	parts := multipart.NewReader(m.Body, boundary)
	if _, err := parts.NextPart(); err != nil { // text and HTML
		t.Fatal(err)
	}
	attached, err := parts.NextRawPart()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(attached)
	if name := attached.FileName(); err != nil || !strings.HasSuffix(name, ".csv") || !strings.HasPrefix(name, "orders-") {
		t.Errorf("attached %s, %v", name, err)
	}
	const csv = "aWQscHJvZHVjdCx0b3RhbA0KQS0xLEtldHRsZSwzMA0KQS0yLEN1cCw1LjUNCkEtMywnPTErMSw1" // id,product,total … A-3,'=1+1,5
	if !strings.HasPrefix(strings.ReplaceAll(string(text), "\n", ""), csv) || !strings.Contains(string(kept[0].Data), "<td>Kettle</td>") {
		t.Errorf("the message:\n%s", kept[0].Data)
	}
	if shown := j.flowrun(t, 0, "runs", "-o", "json"); strings.Contains(shown, "the-password") {
		t.Error("the password is shown")
	}
}
