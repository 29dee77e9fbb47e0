// Package peers lets the consoles of several gateways find each other, by a store that they
// share, and ask each other for pages. Each gateway writes a record of its own; so one console
// can list the records of all.
//
// The store is not trusted, and neither is the network: what a console says of itself is sealed
// with the secret of the gateways, and so is the ticket of each request from one console to
// another. A ticket holds for one page of one console, for a minute, and says for whom it is.
package peers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/internal/base/sealing"
	"github.com/sotto-llm/sotto/internal/base/sleep"
)

// A Directory is where consoles find each other: entries under names that tell nothing. It
// must be safe for concurrent use.
type Directory interface {
	// Enter adds an entry, or replaces it. Entries that nobody replaced for the time keep may
	// be dropped, and of more than most the oldest.
	Enter(name [sha256.Size]byte, entry []byte, keep time.Duration, most int) error
	// Entries returns all entries by their names.
	Entries() (map[[sha256.Size]byte][]byte, error)
}

const (
	// every is how often a console says that it is there, and looks who else is.
	every = 5 * time.Second
	// hurry is how often it says so while its record grows, and looks who else is while somebody
	// follows the lists of all.
	hurry = time.Second
	// silence is after how long without a word a console is not asked any more, and keep how
	// long it is named as missing.
	silence = 30 * time.Second
	keep    = 24 * time.Hour
	// Most bounds the consoles that are known, and maxEntry the bytes of an entry.
	Most     = 16
	maxEntry = 4 << 10
)

// Options say what a console tells the others of itself.
type Options struct {
	Directory Directory
	Secret    []byte // of all gateways
	// Record is the identity of the record that the console shows, and Name what pages call
	// its gateway.
	Record, Name string
	// Address returns the host and the port by which the others reach the console; "" if that
	// is not known. Certificate returns what it shows there, in DER, or nil without TLS.
	Address     func() string
	Certificate func() []byte
	// Head returns the newest event of the record; nil means that the others are not told.
	Head func() uint64
	Log  *slog.Logger
	Now  func() time.Time
}

// Peers are the consoles that a console knows. It is safe for concurrent use.
type Peers struct {
	o     Options
	box   *sealing.Box
	known atomic.Pointer[known]
	asks  chan struct{} // holds a place for each request to all of them
	pages chan struct{} // … and for each page that is passed on
	// followers counts those who follow the lists of all, and told is the head that the others
	// know of.
	followers atomic.Int64
	told      atomic.Uint64
}

// known is what the directory said last.
type known struct {
	all   []Peer
	fault bool // it could not be asked since
}

// A Peer is the console of another gateway.
type Peer struct {
	Record  string    `json:"record"`
	Name    string    `json:"name"`
	Address string    `json:"address,omitempty"`
	Pin     []byte    `json:"pin,omitempty"`  // SHA-256 of its certificate
	Host    string    `json:"host,omitempty"` // a name that the certificate has
	Heard   time.Time `json:"heard"`
	Head    uint64    `json:"head,omitempty"` // the newest event of its record
}

// New returns the peers of a console.
func New(o Options) (*Peers, error) {
	box, err := sealing.New(o.Secret, "consoles of gateways")
	if err != nil {
		return nil, err
	}
	p := &Peers{o: o, box: box, asks: make(chan struct{}, maxAsks), pages: make(chan struct{}, maxPages)}
	p.known.Store(&known{})
	return p, nil
}

// Record is the identity of the console's own record, and Name what its gateway is called.
func (p *Peers) Record() string { return p.o.Record }

// Name is what the gateway of the console is called.
func (p *Peers) Name() string { return p.o.Name }

// Run tells the others of the console, and learns of them, until ctx ends.
func (p *Peers) Run(ctx context.Context) {
	var last time.Time
	for {
		now := p.o.Now()
		switch due := now.Sub(last) >= every || now.Before(last); {
		case due, p.followers.Load() > 0:
			p.Look()
			last = now
		case p.head() != p.told.Load():
			_ = p.enter() // the next look says what is wrong
		}
		if sleep.For(ctx, hurry) != nil {
			return
		}
	}
}

// Follow begins to look more often who else is, until done is called.
func (p *Peers) Follow() (done func()) {
	p.followers.Add(1)
	return sync.OnceFunc(func() { p.followers.Add(-1) })
}

// Mark is a number that changes when the record of another console has grown, or when one comes
// or goes.
func (p *Peers) Mark() uint64 {
	h := fnv.New64a()
	for _, x := range p.known.Load().all {
		fmt.Fprintf(h, "%s %d %t\n", x.Record, x.Head, p.silent(x))
	}
	return h.Sum64()
}

func (p *Peers) head() uint64 {
	if p.o.Head == nil {
		return 0
	}
	return p.o.Head()
}

// Look tells the others of the console once, and learns of them.
func (p *Peers) Look() {
	err := p.enter()
	var entries map[[sha256.Size]byte][]byte
	if err == nil {
		entries, err = p.o.Directory.Entries()
	}
	was := p.known.Load()
	if err != nil {
		if !was.fault && p.o.Log != nil {
			p.o.Log.Warn("the console cannot look for those of other gateways", "error", err.Error())
		}
		p.known.Store(&known{all: was.all, fault: true})
		return
	}
	p.known.Store(&known{all: p.read(entries)})
}

func (p *Peers) enter() error {
	me := Peer{Record: p.o.Record, Name: p.o.Name, Address: p.o.Address(), Heard: p.o.Now().UTC(), Head: p.head()}
	if cert := p.o.Certificate(); cert != nil {
		sum := sha256.Sum256(cert)
		me.Pin = sum[:]
		if parsed, err := x509.ParseCertificate(cert); err == nil && len(parsed.DNSNames) > 0 {
			me.Host = parsed.DNSNames[0]
		}
	}
	entry, err := json.Marshal(me)
	if err != nil {
		return err
	}
	name := p.box.Name([]byte(me.Record))
	if err := p.o.Directory.Enter(name, p.box.Seal(name[:], entry), keep, Most); err != nil {
		return err
	}
	p.told.Store(me.Head)
	return nil
}

// read opens the entries of the others.
func (p *Peers) read(entries map[[sha256.Size]byte][]byte) (list []Peer) {
	now := p.o.Now()
	for name, entry := range entries {
		plain, ok := p.box.Open(name[:], entry)
		var peer Peer
		if !ok || len(plain) > maxEntry || json.Unmarshal(plain, &peer) != nil || p.box.Name([]byte(peer.Record)) != name {
			continue
		}
		if peer.Record != p.o.Record && validRecord(peer.Record) && now.Sub(peer.Heard) < keep {
			list = append(list, peer)
		}
	}
	slices.SortFunc(list, func(a, b Peer) int { return b.Heard.Compare(a.Heard) })
	list = list[:min(len(list), Most)]
	slices.SortFunc(list, func(a, b Peer) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Record, b.Record)) })
	return list
}

// Others are the consoles of the other gateways, by their names. lost says that the directory
// cannot be reached, so that there may be further ones.
func (p *Peers) Others() (list []Peer, lost bool) {
	k := p.known.Load()
	return k.all, k.fault
}

// Peer returns the console that has a record.
func (p *Peers) Peer(record string) (Peer, bool) {
	all := p.known.Load().all
	i := slices.IndexFunc(all, func(x Peer) bool { return x.Record == record })
	if i < 0 {
		return Peer{}, false
	}
	return all[i], true
}

// silent reports whether a console has said nothing for so long that it is not asked.
func (p *Peers) silent(x Peer) bool {
	return x.Address == "" || !p.known.Load().fault && p.o.Now().Sub(x.Heard) > silence
}

// maxRecord bounds the identity of a record.
const maxRecord = 64

func validRecord(id string) bool {
	if id == "" || len(id) > maxRecord {
		return false
	}
	for _, r := range id {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') {
			return false
		}
	}
	return true
}
