package auth

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"time"
)

// leaf returns the client certificate of a connection if TLS has verified it. PeerCertificates would also contain unverified
// ones.
func leaf(state *tls.ConnectionState) *x509.Certificate {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return nil
	}
	return state.VerifiedChains[0][0]
}

// certificateCaller returns the caller that a certificate names. It may infer; if it is among the admins, it may do
// everything.
func (g *Guard) certificateCaller(certificate *x509.Certificate, now time.Time) (Caller, error) {
	// A connection may outlive its certificate.
	if now.After(certificate.NotAfter) {
		return Caller{}, unauthenticated("the client certificate ended at %s", certificate.NotAfter.UTC().Format(time.RFC3339))
	}
	name := certificateName(certificate)
	if err := checkName(name); err != nil {
		return Caller{}, unauthenticated("the client certificate: %v", err)
	}
	allowed := Infer
	if slices.Contains(g.config.Admins, name) {
		allowed = Infer | Admin | Metrics
	}
	return Caller{Name: name, Kind: "certificate", Allowed: allowed}, nil
}

// certificateName returns the common name, or the first of the other names.
func certificateName(certificate *x509.Certificate) string {
	switch {
	case certificate.Subject.CommonName != "":
		return certificate.Subject.CommonName
	case len(certificate.URIs) > 0:
		return certificate.URIs[0].String()
	case len(certificate.DNSNames) > 0:
		return certificate.DNSNames[0]
	case len(certificate.EmailAddresses) > 0:
		return certificate.EmailAddresses[0]
	case len(certificate.IPAddresses) > 0:
		return certificate.IPAddresses[0].String()
	}
	return ""
}
