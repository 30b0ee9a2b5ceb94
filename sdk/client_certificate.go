package sdk

import (
	"crypto/tls"
	"fmt"
)

// ClientCertificate are the settings of a service that asks clients for a certificate:
// embed them in the config beside HTTPSettings. The SDK for Python does not have them.
type ClientCertificate struct {
	CertFile string `json:"cert_file,omitempty" doc:"PEM file with the client's certificate, for services that ask for one"`
	KeyFile  string `json:"key_file,omitempty" doc:"PEM file with the key of cert_file"`
}

// clientCertificate finds the embedded settings of a config, a pointer to a struct.
func clientCertificate(config any) ClientCertificate {
	own, _ := embeddedSettings[ClientCertificate](config)
	return own
}

func (own ClientCertificate) check() []Problem {
	switch {
	case own.CertFile == "" && own.KeyFile == "":
		return nil
	case own.KeyFile == "":
		return []Problem{Problemf("/key_file", "is needed beside cert_file")}
	case own.CertFile == "":
		return []Problem{Problemf("/cert_file", "is needed beside key_file")}
	}
	if _, err := own.load(); err != nil {
		return []Problem{Problemf("/cert_file", "%v", err)}
	}
	return nil
}

// load reads the files; none are no certificate.
func (own ClientCertificate) load() ([]tls.Certificate, error) {
	if own.CertFile == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(own.CertFile, own.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("%s and %s can't be used: %w", own.CertFile, own.KeyFile, pathless(err))
	}
	return []tls.Certificate{pair}, nil
}
