package headers

import (
	"maps"
	"net/http"
)

// A Writer is what a response is written to. It lets informational responses pass by
// the law: only their headers that are listed, and where reasoning is hidden nothing but
// status 100. The proxy clears all headers after an informational response. The
// gateway's own are put back.
type Writer struct {
	http.ResponseWriter
	law     Law
	own     http.Header // set before the proxy began
	cleared bool        // … and cleared by the proxy
}

func NewWriter(w http.ResponseWriter, l Law) *Writer {
	return &Writer{ResponseWriter: w, law: l, own: w.Header().Clone()}
}

// Unwrap returns the writer for an [http.ResponseController].
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *Writer) Header() http.Header {
	h := w.ResponseWriter.Header()
	if w.cleared {
		w.cleared = false
		maps.Copy(h, w.own)
	}
	return h
}

func (w *Writer) WriteHeader(status int) {
	if status < 100 || status > 199 || status == http.StatusSwitchingProtocols {
		w.Header()
		w.ResponseWriter.WriteHeader(status)
		return
	}
	h := w.ResponseWriter.Header()
	for name := range w.own {
		delete(h, name)
	}
	if w.law.Hides {
		clear(h)
	}
	w.law.apply(h)
	if w.cleared = true; !w.law.Hides || status == http.StatusContinue {
		w.ResponseWriter.WriteHeader(status)
	}
}
