package cli

import (
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/record"
)

// exchangesIn returns the exchanges of a record.
func exchangesIn(t *testing.T, dir string) (list []record.Exchange) {
	t.Helper()
	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range r.Events(record.Query{Types: []record.Type{record.TypeExchange}}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e.Payload.(record.Exchange))
	}
	return list
}

// TestServeRecord: the gateway records what models write. A second gateway is
// refused the folder. Exchanges that run at a shutdown are recorded too, whether
// cut or not.
func TestServeRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	r := startServe(t, "--record="+dir, "--scripted-pause=20ms", "--shutdown-wait=1ms")
	if _, err := record.Open(dir, record.Options{}); err == nil {
		t.Error("a second writer gets the record")
	}
	whole := r.chat("minimax-m2", false)
	io.Copy(io.Discard, whole.Body)
	frames := begun(t, r.chat("minimax-m2", true))
	for line := ""; !strings.Contains(line, "reasoning_content"); {
		var err error
		if line, err = frames.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	r.interrupt(t)
	list := exchangesIn(t, dir)
	if len(list) != 2 {
		t.Fatalf("%d exchanges", len(list))
	}
	m, _ := scripted.Find("minimax-m2")
	for i, want := range []string{"answered", "failed"} {
		e := list[i]
		if e.Outcome != want || len(e.Replies) != 1 || !strings.HasPrefix(m.Reply.Text(), string(e.Replies[0].Raw.Text)) {
			t.Errorf("%+v", e)
		}
	}
	if got := string(list[0].Replies[0].Raw.Text); got != m.Reply.Text() {
		t.Errorf("raw %q", got)
	}
	if report, err := record.Verify(dir, record.VerifyOptions{}); err != nil || report.Err() != nil {
		t.Error(err, report.Err())
	}
}

// interrupt ends the gateway, which may cut streams.
func (r *running) interrupt(t *testing.T) {
	t.Helper()
	r.signals <- syscall.SIGTERM
	<-r.ended
	if log := <-r.log; strings.Contains(log, "events are missing") {
		t.Error(log)
	}
}
