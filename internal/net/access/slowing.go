package access

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/base/faultname"
)

const (
	// freeGuesses are the wrong tokens in a minute from one address, and freeGuessesOfAll
	// those from all, that are answered at once. The answer to one more waits for guessWait.
	freeGuesses      = 60
	freeGuessesOfAll = 600
	guessWait        = time.Second
	// maxGuessers bounds the addresses that are known, and maxWaiting and maxWaitingEach the
	// answers that wait: of all addresses, and of one.
	maxGuessers    = 4096
	maxWaiting     = 256
	maxWaitingEach = 16
)

// guesses slow those who try tokens. Only answers to wrong tokens wait: the token is
// compared first, so that nobody who has a right one waits for others, not even behind a
// proxy that brings all callers from one address. What waits holds no slot. The zero value
// is ready.
type guesses struct {
	mu      sync.Mutex
	from    map[string]*guesser
	all     guesser
	cleaned time.Time
}

// A guesser is an address from which wrong tokens came.
type guesser struct {
	tried   float64 // wrong tokens; the number falls evenly, in a minute by as many as are free
	at      time.Time
	waiting int
}

// slows counts a wrong token, and reports whether there were more than are free.
func (g *guesser) slows(now time.Time, free float64) bool {
	g.tried = g.left(now, free) + 1
	g.at = now
	return g.tried > free
}

func (g *guesser) left(now time.Time, free float64) float64 {
	return max(0, g.tried-now.Sub(g.at).Minutes()*free)
}

// begin counts a wrong token from an address. It returns how long the answer waits, which
// end ends, or that too many wait already.
func (g *guesses) begin(from string) (wait time.Duration, end func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	many := g.all.slows(now, freeGuessesOfAll)
	own := g.guesser(from, now)
	if own.slows(now, freeGuesses) {
		many = true
	}
	switch {
	case !many:
		return 0, func() {}, true
	case g.all.waiting >= maxWaiting || own.waiting >= maxWaitingEach:
		return 0, nil, false
	}
	g.all.waiting++
	own.waiting++
	return guessWait, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.all.waiting--
		own.waiting--
	}, true
}

// guesser returns what is known of an address. If there are too many, all others share one
// entry, the one without an address. The caller holds the lock.
func (g *guesses) guesser(from string, now time.Time) *guesser {
	if g.from == nil {
		g.from = map[string]*guesser{}
	}
	if own := g.from[from]; own != nil {
		return own
	}
	if len(g.from) >= maxGuessers && now.Sub(g.cleaned) >= time.Second {
		g.cleaned = now
		for address, own := range g.from {
			if own.waiting == 0 && own.left(now, freeGuesses) < 1 {
				delete(g.from, address)
			}
		}
	}
	if len(g.from) >= maxGuessers {
		from = ""
	}
	if g.from[from] == nil {
		g.from[from] = &guesser{}
	}
	return g.from[from]
}

// Guessed counts a wrong token of a request, and returns when it is time to answer. If it
// reports false, there is nothing to answer: the client has left, or has the answer that
// too many tokens were wrong.
func (c *Control) Guessed(w http.ResponseWriter, r *http.Request) bool {
	wait, end, ok := c.guesses.begin(network(r.RemoteAddr))
	if !ok {
		seconds := int(math.Ceil(guessWait.Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		w.Header().Set("Connection", "close")
		c.refuse(w, r, faultname.WrongTokens, http.StatusTooManyRequests, fmt.Sprintf("too many wrong tokens: try again in %d s", seconds))
		return false
	}
	defer end()
	if wait == 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// network returns where a request comes from: an IPv4 address, or an IPv6 network, since
// one machine can have any number of IPv6 addresses.
func network(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return "" // a Unix socket has no address
	}
	ip := at.Addr().Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	return netip.PrefixFrom(ip, bits).Masked().String()
}
