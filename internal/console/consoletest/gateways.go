package consoletest

import (
	"crypto/sha256"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/console/peers"
	"github.com/sotto-llm/sotto/record"
)

// A Directory keeps the entries of consoles in memory. It fails while it is down.
type Directory struct {
	mu   sync.Mutex
	all  map[[sha256.Size]byte][]byte
	down bool
}

func (d *Directory) do(f func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return errors.New("no server")
	}
	f()
	return nil
}

// Enter adds an entry. It drops none.
func (d *Directory) Enter(of [sha256.Size]byte, entry []byte, _ time.Duration, _ int) error {
	return d.do(func() {
		if d.all == nil {
			d.all = map[[sha256.Size]byte][]byte{}
		}
		d.all[of] = entry
	})
}

// Entries returns all entries.
func (d *Directory) Entries() (all map[[sha256.Size]byte][]byte, err error) {
	err = d.do(func() { all = maps.Clone(d.all) })
	return all, err
}

// Break says whether the directory is down.
func (d *Directory) Break(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
}

// A Gateway is one of several whose consoles know each other.
type Gateway struct {
	Writer *record.Writer
	Dir    string
	Peers  *peers.Peers
	Server *httptest.Server // not started
}

// Gateways are so many gateways with records of their own. serve returns the console of one.
// They do not know each other before [Meet].
func Gateways(t testing.TB, n int, now func() time.Time, directory *Directory, serve func(*Gateway) http.Handler) []*Gateway {
	t.Helper()
	list := make([]*Gateway, n)
	for i := range list {
		g := &Gateway{}
		g.Writer, g.Dir = Open(t)
		t.Cleanup(func() { g.Writer.Close() })
		var handler http.Handler // made when the server has an address
		g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
		var err error
		g.Peers, err = peers.New(peers.Options{
			Directory: directory, Secret: []byte("a secret that gateways have in common"), Record: g.Writer.ID(), Name: "gateway-" + string(rune('a'+i)), Now: now,
			Address: func() string { return g.Server.Listener.Addr().String() }, Certificate: func() []byte { return nil },
			Head: func() uint64 { return g.Writer.Head().Seq },
		})
		if err != nil {
			t.Fatal(err)
		}
		handler = serve(g)
		g.Server.Start()
		t.Cleanup(g.Server.Close)
		list[i] = g
	}
	return list
}

// Meet lets gateways know each other.
func Meet(list ...*Gateway) {
	for range 2 {
		for _, g := range list {
			g.Peers.Look()
		}
	}
}
