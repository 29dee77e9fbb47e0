// Package gateway is a reverse proxy that hands the replies of models on with
// their reasoning where it belongs. A client changes its base URL, nothing else.
//
//	g, err := gateway.New(gateway.Config{Upstream: upstream})
//	…
//	http.ListenAndServe("127.0.0.1:8383", g)
//
// It knows the APIs of [Codecs]; everything else passes through. The way of a
// streamed reply is straight:
//
//	upstream's bytes → frames → codec → reading, a splitter per choice → codec → client
//
// A frame that holds nothing to split leaves byte for byte as it came. What a
// reply's start is, where it is not configured, is decided by evidence: the
// prompt's tail, what earlier replies of the same upstream, model and thinking
// switch showed, the model's family.
//
// With a [Recorder], such as a [record.Writer], every exchange with a model is
// recorded as it came, behind its last byte; nobody waits for that.
//
// The same is at hand for Go clients as a [Transport].
//
// A Handler is safe for concurrent use. It never sends a request to another
// server than its upstream, writes no content, key or cookie to its log, and
// bounds what a peer can make grow ([Limits]).
package gateway
