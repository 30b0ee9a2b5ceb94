package conformance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// caFileSetting is the config's file with the authorities that a plugin trusts besides the
// system's: where it is, the kit can stand before a service with HTTPS too.
const caFileSetting = "ca_file"

// secure makes the kit answer by HTTPS, as the service behind it does. caFile has the
// authority of the service; the file that is returned has that of the kit besides.
func (s *service) secure(dir, caFile string, now time.Time) (string, error) {
	trusted, err := os.ReadFile(caFile)
	if err != nil {
		return "", fmt.Errorf("read the authority of the service: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	certificate, own, err := selfSigned(now)
	if err != nil {
		return "", err
	}
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 64, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	if err := s.serveTLS(certificate); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "authorities.pem")
	if err := os.WriteFile(file, append(own, trusted...), 0o600); err != nil {
		return "", fmt.Errorf("write the authority of the kit: %w", err)
	}
	return file, nil
}

// serveTLS listens with a certificate; from then on its address is that of HTTPS.
func (s *service) serveTLS(certificates ...tls.Certificate) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for requests to the service: %w", err)
	}
	s.secured = s.newServer()
	s.secured.TLSConfig = &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12}
	s.secured.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){} // HTTP/1.1 alone: a lost answer is a closed connection
	s.url = "https://" + listener.Addr().String()
	go func() { _ = s.secured.ServeTLS(listener, "", "") }() // ends with close
	return nil
}

// anotherService is a stub that answers everything alike, and that the plugin trusts as it
// trusts the kit.
func (s *service) anotherService(a Answer) (*service, error) {
	other, err := serveService("", []Answer{a})
	if err != nil || s.secured == nil {
		return other, err
	}
	if err := other.serveTLS(s.secured.TLSConfig.Certificates...); err != nil {
		other.close()
		return nil, err
	}
	return other, nil
}

// selfSigned makes a certificate of this machine that is its own authority.
func selfSigned(now time.Time) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make the key of the kit: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "flowrun plugins test"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make the certificate of the kit: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
