package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/internal/base/diskroom"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

// A Health is what a console beside a gateway knows of it.
type Health struct {
	// Upstreams are the model servers in use, the default one first.
	Upstreams func() []Upstream
	// Reach connects to one of them.
	Reach func(ctx context.Context, upstream *url.URL) error
	// Counters are the gateway's metrics as they are now.
	Counters func() []Counter
	// Starts are what the gateway learned of how replies begin, and Forget removes
	// what it learned of one model.
	Starts func() []LearnedStart
	Forget func(model string) (int, error)
	// Settings are those in force, without secrets.
	Settings func() string
}

// An Upstream is a model server.
type Upstream struct {
	Name string
	URL  *url.URL // without a password
}

// A reached upstream is one as the page shows it.
type reached struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Fault string `json:"error,omitempty"`
}

// A Counter is a value of a metric.
type Counter struct {
	Name   string  `json:"name"`
	Help   string  `json:"help"`
	Labels string  `json:"labels,omitempty"`
	Value  float64 `json:"value"`
}

// A LearnedStart says how the replies of a model begin.
type LearnedStart struct {
	Upstream string    `json:"upstream"`
	Model    string    `json:"model"`
	Switch   string    `json:"switch,omitempty"`
	Start    string    `json:"start,omitempty"`
	Native   string    `json:"native,omitempty"`
	Seen     time.Time `json:"seen"`
}

func healthScreen() Screen {
	return Screen{
		Path: "health", Key: "h", Icon: "M2.500 10.500h4l2-5 3 9 2-4h4",
		Routes: map[string]Handler{"": health, "POST verify": verify, "POST forget": forget, "views": whoLooked},
		shown:  func(c *Config) bool { return c.Record != nil || c.Health != nil },
	}
}

// maxCounters and maxStarts bound what the page lists.
const (
	maxCounters = 300
	maxStarts   = 200
	maxFindings = 20
	reachTime   = 2 * time.Second
)

// A recordHealth is the state of the record's files.
type recordHealth struct {
	Bytes    int64  `json:"bytes"`
	Segments int    `json:"segments"`
	Pruned   int    `json:"pruned_segments"`
	Head     uint64 `json:"head"`
	Digest   string `json:"digest,omitempty"`
	Free     int64  `json:"free_bytes,omitempty"` // of its disk; 0 if not known
	Away     bool   `json:"in_object_storage,omitempty"`
	Fault    string `json:"error,omitempty"`
}

// A verified is the last verification of the record.
type verified struct {
	Running  bool      `json:"running,omitempty"`
	Began    time.Time `json:"began,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Event    uint64    `json:"event,omitempty"` // the last one that was verified
	Events   uint64    `json:"events,omitempty"`
	Findings []string  `json:"findings,omitempty"`
	More     int       `json:"more_findings,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	Fault    string    `json:"error,omitempty"`
}

// A verifier verifies a record, once at a time.
type verifier struct {
	mu   sync.Mutex
	last verified
}

// healthData is what the page shows.
type healthData struct {
	V int `json:"v"`
	// Wrong is what is not as it should be, the most urgent first.
	Wrong        []wrong        `json:"wrong"`
	Record       *recordHealth  `json:"record,omitempty"`
	Verified     verified       `json:"verified"`
	Gateway      bool           `json:"gateway"`
	Upstream     string         `json:"upstream,omitempty"` // the default one
	Unreached    string         `json:"upstream_error,omitempty"`
	Upstreams    []reached      `json:"upstreams,omitempty"`
	Counters     []Counter      `json:"counters,omitempty"`
	MoreCounters int            `json:"more_counters,omitempty"`
	Starts       []LearnedStart `json:"learned_starts,omitempty"`
	MoreStarts   int            `json:"more_learned_starts,omitempty"`
	Settings     string         `json:"settings,omitempty"`
	Now          time.Time      `json:"-"`

	compared bool // it was looked for changes for the worse
	// Alone says that the page is for reading, since it may be passed on by another console.
	Alone bool `json:"-"`
}

func health(c *Console, r *http.Request) (Answer, error) {
	if c.Several(r) && !r.URL.Query().Has("here") {
		return c.healthOfAll(r)
	}
	d := c.health(r)
	a := Answer{Template: "health", Title: Word("screen.health"), Crumbs: []Crumb{{Name: Word("screen.health")}}, Data: d}
	if d.Verified.Running {
		a.Header = map[string]string{"Refresh": "2"} // seconds, until there is a result
	}
	return a, nil
}

// health is that of this gateway and its record. The upstreams are reached while the record is
// looked at, so that consoles that ask for it do not wait for both.
func (c *Console) health(r *http.Request) healthData {
	d := healthData{V: 1, Wrong: []wrong{}, Now: c.config.Now(), Alone: alone(r)}
	if c.config.Record != nil {
		d.Record, d.Verified = c.recordHealth(), c.verifier.state()
	}
	var reaching sync.WaitGroup
	if h := c.config.Health; h != nil {
		d.Gateway, d.Settings = true, h.Settings()
		reaching.Go(func() { d.Upstreams = h.reach(r.Context()) })
		d.Counters, d.Starts = h.Counters(), h.Starts()
		if d.MoreCounters = max(0, len(d.Counters)-maxCounters); d.MoreCounters > 0 {
			d.Counters = d.Counters[:maxCounters]
		}
		if d.MoreStarts = max(0, len(d.Starts)-maxStarts); d.MoreStarts > 0 {
			d.Starts = d.Starts[:maxStarts]
		}
	}
	var became []wrong
	if c.config.Record != nil && c.searching(r) {
		var err error
		became, err = c.worse(r.Context())
		d.compared = err == nil
		c.searched()
	}
	reaching.Wait()
	if len(d.Upstreams) > 0 {
		d.Upstream, d.Unreached = d.Upstreams[0].URL, d.Upstreams[0].Fault
	}
	d.Wrong = append(append(d.Wrong, d.wrongs()...), became...)
	return d
}

// reach connects to all upstreams at the same time.
func (h *Health) reach(ctx context.Context) []reached {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	upstreams := h.Upstreams()
	list := make([]reached, len(upstreams))
	var all sync.WaitGroup
	for i, u := range upstreams {
		list[i] = reached{Name: u.Name, URL: u.URL.String()}
		all.Go(func() {
			if err := h.Reach(ctx, u.URL); err != nil {
				list[i].Fault = shorttext.Escape(unreached(err), MaxFault)
			}
		})
	}
	all.Wait()
	return list
}

// unreached says why an upstream cannot be reached, in words for whoever runs the gateway.
func unreached(err error) string {
	var name *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Sprintf(Word("unreached.name"), name.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return Word("unreached.refused")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return Word("unreached.late")
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// recordHealth looks at the record's files.
func (c *Console) recordHealth() *recordHealth {
	store := c.config.Record
	h := &recordHealth{Free: diskroom.Free(c.config.Dir)}
	h.Segments, h.Bytes = store.Size()
	last, err := store.Last()
	var fault error
	if h.Away, fault = store.Away(); h.Away {
		h.Free = 0 // the record is not on this disk
	} else if head, err := store.Reader().Head(); err == nil {
		h.Digest = head.Digest.String()
	}
	if h.Head = last; cmp.Or(err, fault) != nil {
		h.Fault = shorttext.Escape(cmp.Or(err, fault).Error(), MaxFault)
	}
	files, err := os.ReadDir(c.config.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.Fault = cmp.Or(h.Fault, shorttext.Escape(err.Error(), MaxFault))
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".pruned") {
			h.Pruned++
		}
	}
	return h
}

func (v *verifier) state() verified {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

// start verifies the record in a folder, unless that is under way.
func (v *verifier) start(dir string, now func() time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last.Running {
		return
	}
	v.last.Running, v.last.Began = true, now()
	go func() {
		report, err := record.Verify(dir, record.VerifyOptions{})
		done := verified{Ended: now(), Event: report.Head.Seq, Events: report.Events, Warnings: report.Warnings[:min(len(report.Warnings), maxFindings)]}
		for _, f := range report.Findings[:min(len(report.Findings), maxFindings)] {
			done.Findings = append(done.Findings, fmt.Sprint(f))
		}
		done.More = report.More + len(report.Findings) - len(done.Findings)
		if err != nil {
			done.Fault = shorttext.Escape(err.Error(), MaxFault)
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		done.Began = v.last.Began
		v.last = done
	}()
}

// verify begins to verify the record. The page shows the result when it is there.
func verify(c *Console, r *http.Request) (Answer, error) {
	if c.config.Record == nil {
		return Answer{}, errNoPage
	}
	if away, _ := c.config.Record.Away(); away {
		return Answer{}, BadRequest{fmt.Errorf("the record is in object storage: sotto record verify %s copies and verifies it", c.config.Name)}
	}
	c.verifier.start(c.config.Dir, c.config.Now)
	return c.toHealth(r), nil
}

// errNoOperator is the error of a caller who may not change what the gateway has.
var errNoOperator = errors.New("this token does not have the scope operator")

// forget removes what was learned of one model. The reader types its name.
func forget(c *Console, r *http.Request) (Answer, error) {
	if c.config.Health == nil {
		return Answer{}, errNoPage
	}
	if err := r.ParseForm(); err != nil {
		return Answer{}, BadRequest{errors.New("this is not a form")}
	}
	model := r.PostForm.Get("model")
	switch {
	case model == "" || strings.Contains(model, "*"):
		return Answer{}, BadRequest{errors.New("model: want the name of one model")}
	case r.PostForm.Get("confirm") != model:
		return Answer{}, BadRequest{fmt.Errorf("to forget how the replies of %s begin, type its name; you typed %s", shorttext.Quote(model), shorttext.Quote(r.PostForm.Get("confirm")))}
	}
	if !viewerOf(r).Operates {
		return Answer{}, errNoOperator
	}
	if err := c.changes(r, "forget", model); err != nil {
		return Answer{}, err
	}
	n, err := c.config.Health.Forget(model)
	if err != nil {
		return Answer{}, err
	}
	if n == 0 {
		return Answer{}, fmt.Errorf("nothing is learned of %s: %w", shorttext.Quote(model), view.ErrNotFound)
	}
	c.config.Log.Info("learned starts were forgotten by the console", "model", model, "entries", n)
	return c.toHealth(r), nil
}

// toHealth leads from what changed a gateway to its own page.
func (c *Console) toHealth(r *http.Request) Answer {
	if c.Several(r) {
		return Answer{Redirect: "../health?here"}
	}
	return Answer{Redirect: "../health"}
}
