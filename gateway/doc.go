// Package gateway is a reverse proxy that passes on the replies of models, with
// their reasoning in the place where the API expects it. A client changes only its
// base URL.
//
//	g, err := gateway.New(gateway.Config{Upstream: upstream})
//	…
//	http.ListenAndServe("127.0.0.1:8383", g)
//
// It reads replies of the APIs that [Codecs] lists; everything else passes
// through. A streamed reply takes this path:
//
//	upstream's bytes → frames → codec → reading, a splitter per choice → codec → client
//
// A frame that holds nothing to split leaves byte for byte as it came. If it is not
// configured whether a reply starts inside reasoning, the gateway decides by
// evidence: the end of the prompt; what earlier replies of the same upstream, model
// and thinking switch showed; the model's family.
//
// With a [Recorder], such as a [record.Writer], every exchange with a model is
// recorded as it came. It is recorded after its last byte, and no client waits for
// that.
//
// A Go client can do the same without a server, with a [Transport].
//
// A Handler is safe for concurrent use. It sends requests only to its upstreams,
// writes no content, key or cookie to its log, and bounds everything that a peer
// can make larger ([Limits]).
package gateway
