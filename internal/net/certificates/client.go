package certificates

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Trust returns the configuration of a client that trusts the authorities in a file, and
// no others.
func Trust(file string) (*tls.Config, error) {
	data, err := readFile("the certificates of authorities", file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s: there is no certificate in it (PEM)", file)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}, nil
}

// Pin returns the configuration of a client that expects the very certificate of a file,
// the first in it. Neither the name in it nor the time counts: the client and the server
// have the same file.
func Pin(file string) (*tls.Config, error) {
	data, err := readFile("the certificate", file)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(data)
	for block != nil && block.Type != "CERTIFICATE" { // a key may come first
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return nil, fmt.Errorf("%s: there is no certificate in it (PEM)", file)
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection takes its place
		VerifyConnection: func(s tls.ConnectionState) error {
			if !bytes.Equal(s.PeerCertificates[0].Raw, block.Bytes) {
				return errors.New("the server has another certificate than " + file)
			}
			return nil
		},
	}, nil
}

// ClientPair reads the certificate of a client and its key.
func ClientPair(cert, key string) ([]tls.Certificate, error) {
	certPEM, err := readFile("the certificate of the client", cert)
	if err != nil {
		return nil, err
	}
	keyPEM, err := readFile("the key of the client", key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", cert, key, err)
	}
	return []tls.Certificate{pair}, nil
}
