package authsim

import (
	"cmp"
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
	authorityDER, authorityKey, err := signed("authority", authority, authority, nil, random)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: from, NotAfter: until,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafDER, leafKey, err := signed("server", leaf, authority, authorityKey, random)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	server = tls.Certificate{Certificate: [][]byte{leafDER, authorityDER}, PrivateKey: leafKey}
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authorityDER}), nil
}

// signed makes a key and its certificate, which by signs; nil = the key itself.
func signed(whose string, template, parent *x509.Certificate, by *ecdsa.PrivateKey, random io.Reader) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return nil, nil, fmt.Errorf("make the %s's key: %w", whose, err)
	}
	der, err := x509.CreateCertificate(random, template, parent, &key.PublicKey, cmp.Or(by, key))
	if err != nil {
		return nil, nil, fmt.Errorf("make the %s's certificate: %w", whose, err)
	}
	return der, key, nil
}
