package authsim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"time"
)

// certificateLife is how long a throw-away certificate is good: longer than a
// sandbox stays up.
const certificateLife = 30 * 24 * time.Hour

// Certificate makes a throw-away certificate authority and a server certificate
// of it for localhost, 127.0.0.1 and ::1. The authority's key is not kept. caPEM
// is what a client's ca_file holds. random nil is crypto/rand.
func Certificate(now time.Time, random io.Reader) (server tls.Certificate, caPEM []byte, err error) {
	if random == nil {
		random = rand.Reader
	}
	from, until := now.Add(-time.Hour), now.Add(certificateLife)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "flowrun simulator CA"}, NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make the authority's key: %w", err)
	}
	authorityDER, err := x509.CreateCertificate(random, authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make the authority's certificate: %w", err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: from, NotAfter: until,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make the server's key: %w", err)
	}
	leafDER, err := x509.CreateCertificate(random, leaf, authority, &leafKey.PublicKey, authorityKey)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make the server's certificate: %w", err)
	}
	server = tls.Certificate{Certificate: [][]byte{leafDER, authorityDER}, PrivateKey: leafKey}
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authorityDER}), nil
}
