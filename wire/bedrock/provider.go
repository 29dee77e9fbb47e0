package bedrock

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/sotto-llm/sotto/wire"
)

// Provider is Amazon Bedrock.
var Provider = &wire.Provider{
	Name: "bedrock", Codecs: []wire.Codec{Converse}, Endpoints: endpoints,
	Carriers: []wire.Carrier{{Type: "application/vnd.amazon.eventstream", Asked: func(url.Values) bool { return true }, Begin: begin}},
	ReadPath: readPath, KeepsPath: true, Refuses: refuses, Counts: counts,
}

const (
	wholeVerb  = "/converse"
	streamVerb = "/converse-stream"
	countVerb  = "/count-tokens"
)

// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_Operations_Amazon_Bedrock_Runtime.html
// A model's id may be an ARN, which holds slashes.
var endpoints = []wire.Endpoint{
	{Methods: "POST", Path: "/model/{...}" + wholeVerb, Kind: wire.EndpointReplies, Codec: Converse},
	{Methods: "POST", Path: "/model/{...}" + streamVerb, Kind: wire.EndpointReplies, Codec: Converse},
	{Path: "/model/{...}/invoke", Kind: wire.EndpointUnread, Codec: Converse},
	{Path: "/model/{...}/invoke-with-response-stream", Kind: wire.EndpointUnread, Codec: Converse},
	{Path: "/model/{...}/invoke-with-bidirectional-stream", Kind: wire.EndpointUnread, Codec: Converse},
	{Methods: "POST", Path: "/model/{...}" + countVerb, Kind: wire.EndpointHarmless, Codec: Converse, Counts: true},
	{Path: "/async-invoke", Kind: wire.EndpointUnread, Codec: Converse, For: wire.ForOperator}, // it writes where the operator's account may
	{Path: "/async-invoke/{...}", Kind: wire.EndpointUnread, Codec: Converse, For: wire.ForOperator},
}

// readPath reads the model and the verb: /model/MODEL/converse.
func readPath(path string, q *wire.Request) {
	path = strings.TrimRight(path, "/")
	q.Stream = strings.HasSuffix(path, streamVerb)
	path = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(path, streamVerb), wholeVerb), countVerb)
	if _, model, ok := strings.Cut(path, "/model/"); ok {
		q.Model = model
	}
}

var errSigned = errors.New("the gateway cannot forward a request with an AWS signature, which covers the host and the body: " +
	"use an API key of Amazon Bedrock (AWS_BEARER_TOKEN_BEDROCK)")

// refuses refuses a request with a signature, in its headers or in its query.
func refuses(r *http.Request) error {
	for _, v := range r.Header.Values("Authorization") {
		scheme, _, _ := strings.Cut(strings.TrimSpace(v), " ")
		if strings.HasPrefix(strings.ToUpper(scheme), "AWS4-") {
			return errSigned
		}
	}
	for key := range r.URL.Query() {
		if strings.EqualFold(key, "X-Amz-Signature") {
			return errSigned
		}
	}
	return nil
}
