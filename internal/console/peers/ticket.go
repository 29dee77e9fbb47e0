package peers

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"github.com/sotto-llm/sotto/internal/net/access"
)

// Header is where a request from one console to another has its ticket.
const Header = "Sotto-Console-Ticket"

// ticketTime is how long a ticket holds; the clocks of two machines differ by less.
const ticketTime = time.Minute

// maxTicket bounds a ticket, in bytes.
const maxTicket = 8 << 10

// A Ticket says for whom a console asks another one.
type Ticket struct {
	// Token is the mark of the token by which the person was admitted; nil if the console
	// asks for none. The console that is asked looks it up among its own tokens.
	Token *access.Mark `json:"token,omitempty"`
	From  string       `json:"from"` // the address of the person
	Page  string       `json:"page"` // the path and the query
	At    time.Time    `json:"at"`
}

// seal makes a ticket for a page of a console.
func (p *Peers) seal(record string, t Ticket) string {
	t.At = p.o.Now().UTC()
	plain, err := json.Marshal(t)
	if err != nil {
		panic("peers: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(p.box.Seal(ticketName(record), plain))
}

func ticketName(record string) []byte { return []byte("ticket:" + record) }

// Ticket returns the ticket of a request that another console sent to this one. It is for this
// request alone: for reading, of this page, now.
func (p *Peers) Ticket(r *http.Request) (t Ticket, ok bool) {
	text := r.Header.Get(Header)
	if text == "" || len(text) > maxTicket || r.Method != http.MethodGet {
		return t, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return t, false
	}
	plain, ok := p.box.Open(ticketName(p.o.Record), sealed)
	if !ok || json.Unmarshal(plain, &t) != nil {
		return t, false
	}
	age := p.o.Now().Sub(t.At)
	return t, t.Page == r.URL.RequestURI() && -ticketTime < age && age < ticketTime
}
