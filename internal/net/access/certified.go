package access

import (
	"context"
	"net/http"
)

type certifiedKey struct{}

// Certified returns a request of a client that has shown a certificate. trusted reports
// whether the certificate is still trusted: the authorities may have changed since the
// connection began. Where it is not, no [Control] admits the request.
func Certified(r *http.Request, trusted func() bool) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), certifiedKey{}, trusted))
}

// Trusted reports whether the certificate of a request's client is trusted, if the server
// asks for one.
func Trusted(r *http.Request) bool {
	trusted, asked := r.Context().Value(certifiedKey{}).(func() bool)
	return !asked || trusted()
}
