package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime/pprof"
	"time"

	"github.com/sotto-llm/sotto/_benchmark/internal/traffic"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// serve plays a role until the input ends.
func serve(role string) error {
	if err := traffic.ManyFiles(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { log.Fatal(play(role, l)) }()
	fmt.Println(l.Addr())
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	err = errors.Join(err, closeRecord())
	if *heap != "" {
		f, err := os.Create(*heap)
		if err != nil {
			return err
		}
		defer f.Close()
		return pprof.Lookup("heap").WriteTo(f, 0)
	}
	return err
}

// closeRecord ends the record of this process, if it has one.
var closeRecord = func() error { return nil }

func play(role string, l net.Listener) error {
	if role == "upstream" {
		return upFlags.Serve(l)
	}
	u, err := url.Parse(*to)
	if err != nil {
		return err
	}
	var h http.Handler
	switch role {
	case "plain":
		h = plainProxy(u)
	case "gateway":
		if h, err = gateway.New(gateway.Config{Upstream: u}); err != nil {
			return err
		}
	case "bridge":
		if h, err = gateway.New(gateway.Config{Upstream: u, UpstreamAPI: "chat"}); err != nil {
			return err
		}
	case "recording", "indexed":
		w, err := record.Open(*recordTo, record.Options{Policy: record.Batch})
		if err != nil {
			return err
		}
		g, err := gateway.New(gateway.Config{Upstream: u, Recorder: w})
		if err != nil {
			return err
		}
		stop := func() {}
		if role == "indexed" {
			stop = keepSidecars()
		}
		h, closeRecord = g, func() error {
			stop()
			err := errors.Join(g.Close(), w.Close())
			if n := w.Dropped(); n > 0 { // an event that is not written costs too little
				err = errors.Join(err, fmt.Errorf("%d events were dropped", n))
			}
			return err
		}
	default:
		return fmt.Errorf("%q is no role", role)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	return s.Serve(l)
}

// keepSidecars makes the sidecars of the record as sotto serve does, but looks for new lines more
// often: the work falls into the turn of this process, not into that of another.
func keepSidecars() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sidecar.NewKeeper(*recordTo).Run(ctx, 100*time.Millisecond, func(err error) { log.Fatal("sidecars: ", err) })
	}()
	return func() {
		cancel()
		<-ended
	}
}

// plainProxy is Go's own reverse proxy, set up as in the gateway, and nothing else.
// It reads the whole request, so that no answer is cut, and flushes every write.
func plainProxy(u *url.URL) http.Handler {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 512
	p := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport:     t,
		FlushInterval: -1,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.ServeHTTP(w, r)
	})
}
