//go:build linux

package soak

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// figures are what is sampled, with the bound of its growth over the run. Memory is
// measured after two garbage collections, which empty the pools. The threads of a Go program do not end.
var figures = []struct {
	name string
	bound
}{
	{"heap", bound{0.10, 2 << 20}},
	{"memory of its own", bound{0.15, 12 << 20}},
	{"resident memory", bound{0.15, 12 << 20}},
	{"goroutines", bound{0.05, 5}},
	{"descriptors", bound{0.05, 5}},
	{"threads", bound{0.20, 4}},
}

const (
	keepSize    = 64 << 20
	segmentSize = 64 << 20
	// maxRecord is the size that the record may have on the disk: what is kept, the last
	// segment, the one that was not pruned yet, and the indexes.
	maxRecord = keepSize + 2*segmentSize + 16<<20
	maxData   = 64 << 20
)

// A soak is one run.
type soak struct {
	t       *testing.T
	g       *gateway
	ledger  *ledger
	shared  *http.Client
	clients sync.WaitGroup
	samples [][]float64
	record  []int64
	data    []int64

	mu     sync.Mutex
	faults []string
	count  int // of the faults
}

// TestSoak runs for SOAK_TIME (10m). SOAK_PROGRAM is the program; without it, there
// is no test. SOAK_RATE is how many clients come each second (20).
func TestSoak(t *testing.T) {
	program, spell := os.Getenv("SOAK_PROGRAM"), 10*time.Minute
	if program == "" {
		t.Skip("SOAK_PROGRAM is not set: .ci/long soak builds the program and runs this test")
	}
	if text := os.Getenv("SOAK_TIME"); text != "" {
		var err error
		if spell, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	rate := 20
	if n, err := strconv.Atoi(os.Getenv("SOAK_RATE")); err == nil {
		rate = n
	}
	up, judge := httptest.NewServer(upstream()), httptest.NewServer(guard())
	defer judge.Close()
	defer up.Close()
	g := begin(t, program, up.URL, judge.URL)
	s := &soak{t: t, g: g, ledger: newLedger(t, g.path("record"))}
	s.shared = &http.Client{Transport: s.transport()}
	t.Logf("process %d at %s, console %s, debug %s, folder %s", g.cmd.Process.Pid, g.url, g.console, g.debug, g.dir)
	s.warm()
	idle := s.idle(nil)
	t.Logf("idle after %d clients: %s", len(kinds)*2, row(idle))
	s.load(spell, time.Second/time.Duration(rate))
	s.clients.Wait()
	s.check(idle)
}

func (s *soak) transport() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.g.authority.Pool()}, MaxIdleConnsPerHost: 20}
}

// fault notes what a client or the operators did not expect.
func (s *soak) fault(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if len(s.faults) < 20 {
		s.faults = append(s.faults, fmt.Sprintf(format, args...))
		s.t.Logf(format, args...)
	}
}

// visit runs one client. One in three has a connection of its own.
func (s *soak) visit(ctx context.Context, n int, k *kind) {
	id := fmt.Sprintf("%s %d", k.name, n)
	c := &client{ctx: ctx, base: s.g.url, id: id, n: n, token: tokens[[]string{"alice", "bob"}[n%2]], http: s.shared, tls: &tls.Config{RootCAs: s.g.authority.Pool(), ServerName: "localhost"}}
	if n%3 == 0 {
		own := s.transport()
		defer own.CloseIdleConnections()
		c.http = &http.Client{Transport: own}
	}
	s.ledger.begin(id, k)
	least, most, err := k.run(c)
	s.ledger.end(id, least, most)
	if err != nil {
		s.fault("%s: %v", id, err)
	}
}

// warm lets each kind come twice, so that what is made once is there.
func (s *soak) warm() {
	for n := range 2 * len(kinds) {
		s.visit(s.t.Context(), n, kinds[n%len(kinds)])
	}
	s.ledger.read()
	s.operate(s.t.Context(), 0)
}

// idle waits until no client is connected and the figures have settled, and returns them.
// Connections to the upstream that nothing uses are closed after a minute and a half: if
// there is more than before, idle waits for three minutes.
func (s *soak) idle(before []float64) []float64 {
	s.shared.CloseIdleConnections()
	var least []float64
	for n := range 180 {
		time.Sleep(time.Second)
		s.g.http.CloseIdleConnections()
		now, err := s.sample()
		if err != nil {
			s.t.Fatal(err)
		}
		if least == nil || now[3] < least[3] {
			least = now
		}
		if n >= 20 && (before == nil || least[3] <= before[3]+5 && least[4] <= before[4]+5) {
			break
		}
	}
	return least
}

// load lets clients come at a steady rate, while the operators do what they do.
func (s *soak) load(spell, every time.Duration) {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func() *kind {
		at := rng.IntN(total)
		for _, k := range kinds {
			if at -= k.weight; at < 0 {
				return k
			}
		}
		panic("unreachable")
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	var operators sync.WaitGroup
	operators.Go(func() {
		defer cancel()
		s.operators(ctx, spell)
	})
	beat := time.NewTicker(every)
	defer beat.Stop()
	end := time.After(spell)
	for n := 1000; ; n++ {
		select {
		case <-end:
			cancel()
		case <-ctx.Done():
			operators.Wait()
			return
		case <-beat.C:
			k := pick()
			s.clients.Go(func() { s.visit(s.t.Context(), n, k) })
		}
	}
}

// operators do by turns what is done while a gateway runs: every second the record is read,
// more seldom a page of the console, a reload, a new certificate, the rotation of the log, a
// check of the record, a backup. They take about 200 samples.
func (s *soak) operators(ctx context.Context, spell time.Duration) {
	sampleEvery := max(3, int(spell.Seconds())/200)
	half := int(spell.Seconds()) / 2
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-second.C:
		}
		if n%2 == 0 {
			s.ledger.read()
		}
		if n%5 == 0 {
			s.operate(ctx, n/5)
		}
		if n%sampleEvery == 0 {
			if err := s.take(); err != nil {
				s.fault("%v", err) // the process is gone: so is the load
				return
			}
		}
		if n%60 == 0 {
			s.g.reload()
			s.g.rotate()
		}
		if n%150 == 75 {
			s.g.renew()
		}
		if n%300 == 299 {
			s.verify()
			s.progress(n)
		}
		if n == half {
			s.backup()
		}
	}
}

// pages of the console. The search looks for a word that most exchanges have.
var pages = []string{"exchanges", "exchanges?text=Ottawa", "exchanges?outcome=failed", "search?q=capital", "runs", "health", "evaluation", "playground", "exchanges?caller=bob", ""}

var link = regexp.MustCompile(`href="[^"]*?exchanges/(\d+)`)

// operate reads a page of the console, an exchange that it links to, and follows it live for
// a moment, after a login.
func (s *soak) operate(ctx context.Context, n int) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	transport := s.transport()
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Jar: jar, Timeout: 5 * time.Minute}
	read := func(resp *http.Response, err error) string {
		if err != nil {
			s.fault("console: %v", err)
			return ""
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			s.fault("console: %s: %s, %v: %.200q", resp.Request.URL, resp.Status, err, data)
		}
		return string(data)
	}
	read(c.PostForm(s.g.console+"/login", url.Values{"token": {tokens["ops"]}}))
	page := read(c.Get(s.g.console + "/" + pages[n%len(pages)]))
	if m := link.FindStringSubmatch(page); m != nil {
		read(c.Get(s.g.console + "/exchanges/" + m[1]))
	}
	live, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(live, "GET", s.g.console+"/live", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp, err := c.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// verify checks the record while it is written.
func (s *soak) verify() {
	if _, err := s.g.run("record", "verify", "record", "--key", "signing.pub", "--live"); err != nil {
		s.fault("%v", err)
	}
}

// backup copies the data folder while it is used, and restores it elsewhere.
func (s *soak) backup() {
	for _, args := range [][]string{
		{"data", "backup", "data", "--to", "backup.tar.zst"},
		{"data", "restore", "backup.tar.zst", "--to", "restored"},
		{"data", "verify", "restored"},
	} {
		if _, err := s.g.run(args...); err != nil {
			s.fault("%v", err)
		}
	}
}

// take takes a sample.
func (s *soak) take() error {
	now, err := s.sample()
	if err != nil {
		return err
	}
	s.samples = append(s.samples, now)
	s.record = append(s.record, size(s.g.path("record")))
	s.data = append(s.data, size(s.g.path("data")))
	return nil
}

// size is what the files of a folder have, as far as they stay while it is read.
func size(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

var heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)
var goroutineTotal = regexp.MustCompile(`^goroutine profile: total (\d+)`)

// sample returns the figures of the process, in the order of figures. The error says that
// the process is gone.
func (s *soak) sample() ([]float64, error) {
	number := func(re *regexp.Regexp, path string) float64 {
		text, err := s.g.fetch(s.g.debug + path)
		m := re.FindStringSubmatch(text)
		if err != nil || m == nil {
			s.fault("%s: %v", path, err)
			return 0
		}
		n, _ := strconv.ParseFloat(m[1], 64)
		return n
	}
	number(heapAlloc, "/pprof/heap?gc=1&debug=1") // what is in pools outlives one collection
	heap := number(heapAlloc, "/pprof/heap?gc=1&debug=1")
	goroutines := number(goroutineTotal, "/pprof/goroutine?debug=1")
	if _, err := s.g.fetch(s.g.url + "/metrics"); err != nil {
		s.fault("%v", err)
	}
	pid := fmt.Sprintf("/proc/%d/", s.g.cmd.Process.Pid)
	open, err := os.ReadDir(pid + "fd")
	if err != nil {
		return nil, fmt.Errorf("the process is gone: %w", err)
	}
	status := map[string]float64{}
	text, err := os.ReadFile(pid + "status")
	if err != nil {
		return nil, fmt.Errorf("the process is gone: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 {
			status[f[0]], _ = strconv.ParseFloat(f[1], 64)
		}
	}
	if status["VmRSS:"] == 0 { // nobody has waited for it yet
		return nil, errors.New("the process is gone")
	}
	return []float64{heap, 1024 * status["RssAnon:"], 1024 * status["VmRSS:"], goroutines, float64(len(open)), status["Threads:"]}, nil
}

func row(sample []float64) string {
	var b strings.Builder
	for i, f := range figures {
		fmt.Fprintf(&b, "%s %.0f  ", f.name, sample[i])
	}
	return b.String()
}

// progress shows how the run stands, for who reads the log of a long one.
func (s *soak) progress(seconds int) {
	if len(s.samples) > 0 {
		s.t.Logf("after %d s: %s events %d, record %d bytes, data %d bytes, processor %s", seconds, row(s.samples[len(s.samples)-1]), s.ledger.last, s.record[len(s.record)-1], s.data[len(s.data)-1], s.processor())
	}
}

// processor returns the time of processor that the process has used.
func (s *soak) processor() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.g.cmd.Process.Pid))
	if err != nil {
		return err.Error()
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return (time.Duration(user+system) * 10 * time.Millisecond).String()
}

// check checks all that must hold at the end.
func (s *soak) check(before []float64) {
	t, g := s.t, s.g
	for until := time.Now().Add(2 * time.Minute); len(s.ledger.missing()) > 0 && time.Now().Before(until); time.Sleep(time.Second) {
		s.ledger.read()
	}
	s.flat()
	after := s.idle(before)
	t.Logf("idle at the end: %s processor %s", row(after), s.processor())
	for i, name := range map[int]string{3: "goroutines", 4: "descriptors"} {
		if after[i] > before[i]+5 {
			t.Errorf("without clients, the process has %.0f %s; before the load it had %.0f", after[i], name, before[i])
		}
	}
	s.settings()
	metrics, err := g.fetch(g.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	s.ledger.read()
	if n := int(g.metric(metrics, "sotto_exchanges_total")); n != s.ledger.begun {
		t.Errorf("sotto_exchanges_total is %d, the record has %d exchanges that the gateway did not refuse by itself", n, s.ledger.begun)
	}
	for _, name := range []string{"sotto_open_exchanges", "sotto_record_dropped_total", "sotto_memory_refused_total", "sotto_connections_refused_total", "sotto_record_ship_failures_total"} {
		if n := g.metric(metrics, name); n != 0 {
			t.Errorf("%s is %g", name, n)
		}
	}
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	if err := g.cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
	g.rotate()
	s.verify()
	s.ledger.read()
	s.ledger.report()
	for i, m := range s.ledger.missing() {
		if i == 20 {
			t.Error("… and more")
			break
		}
		t.Error(m)
	}
	for _, line := range s.ledger.strange {
		t.Error(line)
	}
	for _, line := range g.unexpected {
		t.Errorf("in the log: %s", line)
	}
	if s.count > 0 {
		t.Errorf("%d faults, the first of which: %s", s.count, strings.Join(s.faults, "\n"))
	}
	t.Logf("%d exchanges, %d lines of the log, %d reloads, %d certificates", s.ledger.events, g.lines, g.reloads, g.renewals)
}

// flat checks that nothing grew.
func (s *soak) flat() {
	if len(s.samples) < 20 {
		s.t.Errorf("%d samples are too few: SOAK_TIME must be at least two minutes", len(s.samples))
		return
	}
	for i, f := range figures {
		var list []float64
		for _, sample := range s.samples {
			list = append(list, sample[i])
		}
		trend := trendOf(list)
		s.t.Logf("%-18s %s (at most %+.0f)", f.name, trend, f.of(trend))
		if trend.growth > f.of(trend) {
			s.t.Errorf("%s grows: %s; at most %+.0f is allowed", f.name, trend, f.of(trend))
		}
	}
	for name, v := range map[string]struct {
		sizes []int64
		most  int64
	}{"record": {s.record, maxRecord}, "data": {s.data, maxData}} {
		largest := int64(0)
		for _, n := range v.sizes {
			largest = max(largest, n)
		}
		s.t.Logf("the folder %s had at most %d bytes (%d allowed)", name, largest, v.most)
		if largest > v.most {
			s.t.Errorf("the folder %s had %d bytes, more than %d", name, largest, v.most)
		}
	}
}

// settings checks that the reloads had effect: the last good settings, the last
// certificate.
func (s *soak) settings() {
	metrics, err := s.g.fetch(s.g.url + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	good, bad := s.g.metric(metrics, `sotto_config_reloads_total{result="success"}`), s.g.metric(metrics, `sotto_config_reloads_total{result="failure"}`)
	if faulty := s.g.reloads / 5; int(good) < s.g.reloads-faulty || int(bad) < faulty {
		s.t.Errorf("%d reloads: %.0f succeeded and %.0f failed", s.g.reloads, good, bad)
	}
	serial := ""
	for until := time.Now().Add(time.Minute); serial != s.g.serial && time.Now().Before(until); time.Sleep(time.Second) {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.g.url, "https://"), &tls.Config{RootCAs: s.g.authority.Pool(), ServerName: "localhost"})
		if err != nil {
			s.t.Error(err)
			continue
		}
		serial = conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
		conn.Close()
	}
	if serial != s.g.serial {
		s.t.Errorf("the gateway serves the certificate %s, the last is %s", serial, s.g.serial)
	}
}
