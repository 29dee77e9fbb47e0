package servecmd

import (
	"errors"
	"net/http"

	"github.com/sotto-llm/sotto/internal/net/serving"
)

// answerAuthority opens the address at which an authority checks domains without TLS, if
// there is one, and serves it.
func (p *parts) answerAuthority() error {
	handler := p.cert.Answers(p.front.Addr())
	if handler == nil {
		return nil
	}
	l, err := p.sockets.listen(acmeSocket, "--acme-listen", p.s.ACME.Listen)
	if err != nil {
		return err
	}
	server := serving.NewServer(serving.Bodies(handler))
	server.ErrorLog = serving.ServerLog(p.log)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(serving.Bound(l, serving.Bounds{})); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("authorities get no answers without TLS any more", "error", err)
		}
	}()
	p.opened(func() error { server.Close(); <-done; return nil })
	return nil
}

// askAuthority begins to ask for certificates that are missing. It comes last: the
// authority connects to the gateway to see whose the domain is.
func (p *parts) askAuthority() error {
	p.cert.Start()
	p.opened(undo(p.cert.Close))
	return nil
}
