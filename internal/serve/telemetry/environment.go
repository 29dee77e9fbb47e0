package telemetry

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Signals say where what is sent goes, by the variables of OpenTelemetry's specification.
type Signals struct {
	Traces, Metrics Signal
	// Interval is how often metrics are sent; if zero, a minute.
	Interval time.Duration
	// Delta says that a metric has what is new since the last time. If false, it has all since
	// the start.
	Delta bool
}

// A Signal says where one kind of telemetry goes.
type Signal struct {
	// URL is the whole address. If nil, nothing is sent.
	URL *url.URL
	// Header is added to each request, such as the key of the collector.
	Header http.Header
	// Timeout bounds the wait for an answer; if zero, 10 s.
	Timeout time.Duration
	// Plain says that requests are not compressed.
	Plain bool
}

// environment reads variables. Its error is the first fault.
type environment struct {
	get func(string) string
	err error
}

// ReadEnvironment returns the signals for a collector, as the variables say. No error has
// any part of a header.
func ReadEnvironment(base *url.URL, getenv func(string) string) (Signals, error) {
	e := &environment{get: getenv}
	s := Signals{Traces: e.signal(base, "TRACES"), Metrics: e.signal(base, "METRICS")}
	s.Interval = e.milliseconds("OTEL_METRIC_EXPORT_INTERVAL")
	const temporality = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
	switch v := strings.ToLower(getenv(temporality)); v {
	case "", "cumulative":
	case "delta", "lowmemory":
		s.Delta = true
	default:
		e.fault(temporality, "cumulative, delta or lowmemory")
	}
	return s, e.err
}

// fault notes what is wrong with a variable.
func (e *environment) fault(name, what string) {
	if e.err == nil {
		e.err = errors.New(name + " is not " + what)
	}
}

// signal reads the variables of one signal.
func (e *environment) signal(base *url.URL, kind string) Signal {
	listed := strings.Split(strings.ReplaceAll(e.get("OTEL_"+kind+"_EXPORTER"), " ", ""), ",")
	if strings.EqualFold(e.get("OTEL_SDK_DISABLED"), "true") || listed[0] != "" && !slices.Contains(listed, "otlp") {
		return Signal{}
	}
	s := Signal{URL: base.JoinPath("v1", strings.ToLower(kind))}
	if name, text := "OTEL_EXPORTER_OTLP_"+kind+"_ENDPOINT", e.get("OTEL_EXPORTER_OTLP_"+kind+"_ENDPOINT"); text != "" {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			e.fault(name, "a whole URL such as http://localhost:4318/v1/"+strings.ToLower(kind)+", without a user name or password")
			return s
		}
		s.URL = u
	}
	s.Header = e.header(kind)
	name, _ := e.either(kind, "TIMEOUT")
	s.Timeout = e.milliseconds(name)
	switch name, v := e.either(kind, "COMPRESSION"); v {
	case "", "gzip":
	case "none":
		s.Plain = true
	default:
		e.fault(name, "gzip or none")
	}
	return s
}

// either returns the variable of a signal, or else that of all signals.
func (e *environment) either(kind, what string) (name, value string) {
	name = "OTEL_EXPORTER_OTLP_" + kind + "_" + what
	if value = e.get(name); value != "" {
		return name, value
	}
	name = "OTEL_EXPORTER_OTLP_" + what
	return name, e.get(name)
}

// header reads a list of headers: name=value, with commas between, and each value encoded
// as in a URL.
func (e *environment) header(kind string) http.Header {
	name, text := e.either(kind, "HEADERS")
	if text == "" {
		return nil
	}
	h := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || !httpguts.ValidHeaderFieldName(key) || !httpguts.ValidHeaderFieldValue(value) {
			e.fault(name, "a list of headers: want name=value, with commas between")
			return nil
		}
		h.Set(key, value)
	}
	return h
}

// mostWait bounds a time in a variable, so that it is one.
const mostWait = 24 * time.Hour

// milliseconds reads a time. Zero means the default.
func (e *environment) milliseconds(name string) time.Duration {
	text := strings.TrimSpace(e.get(name))
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > mostWait.Milliseconds() {
		e.fault(name, fmt.Sprintf("a number of milliseconds from 0 to %d", mostWait.Milliseconds()))
		return 0
	}
	return time.Duration(n) * time.Millisecond
}
