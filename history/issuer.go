package history

import (
	"slices"

	"github.com/sotto-llm/sotto/wire"
)

// Providers refuse reasoning that another one has signed or encrypted. So where a gateway has several
// upstreams, the store also knows who issued what: it keeps a digest of each proof, and no proof.

// Issued notes that an upstream sent a caller proofs: signatures, or encrypted reasoning.
func (s *Store) Issued(caller, issuer string, proofs []string) {
	if s == nil || s.entries <= 0 || s.age <= 0 {
		return
	}
	for _, proof := range proofs {
		e := &entry{key: s.proofKey(caller, proof), Remembered: Remembered{Raw: issuer}}
		if e.size() <= s.bytes {
			s.keep(e)
			s.share(caller, e)
		}
	}
}

// Issuers returns who issued proofs that a caller sends back, by the proof. Those that are not known are
// missing.
func (s *Store) Issuers(caller string, proofs []string) map[string]string {
	if s == nil || len(proofs) == 0 {
		return nil
	}
	found := map[string]string{}
	var missing []string
	var keys []Key
	s.mu.Lock()
	for _, proof := range proofs {
		k := s.proofKey(caller, proof)
		if e := s.byKey[k]; e != nil {
			s.unlink(e)
			s.use(e)
			found[proof] = e.Raw
		} else if len(keys) < maxFetched {
			missing, keys = append(missing, proof), append(keys, k)
		}
	}
	s.mu.Unlock()
	if s.level == nil || len(keys) == 0 {
		return found
	}
	for i, value := range s.level.Get(s.group(caller), keys) {
		if e := s.level.opened(keys[i], value); e != nil {
			found[missing[i]] = e.Raw
			s.keep(e)
		}
	}
	return found
}

func (s *Store) proofKey(caller, proof string) key {
	c := &chain{mac: s.mac()}
	c.sum = c.next("caller of proofs", caller, nil)
	return c.next("proof", proof, nil)
}

// Foreign returns changes that leave out thoughts which another issuer has signed or encrypted, and how many
// there are. What nobody is known to have issued stays.
func Foreign(q *wire.Request, caller, issuer string, s *Store) (changes []wire.Change, thoughts int) {
	var proofs []string
	for i := range q.Messages {
		for _, t := range q.Messages[i].Thoughts {
			if t.Proof != "" {
				proofs = append(proofs, t.Proof)
			}
		}
	}
	issuers := s.Issuers(caller, proofs)
	if len(issuers) == 0 {
		return nil, 0
	}
	return dropThoughts(q, func(t wire.Thought) bool {
		by, known := issuers[t.Proof]
		return known && t.Proof != "" && by != issuer
	})
}

// WithoutThoughts returns changes that leave out all reasoning of a request, and how many thoughts that
// are. It is for a request whose upstream has refused some of them and does not say which.
func WithoutThoughts(q *wire.Request) (changes []wire.Change, thoughts int) {
	return dropThoughts(q, func(wire.Thought) bool { return true })
}

// dropThoughts returns changes that leave out thoughts, apart from those of a message that would be empty,
// which would be refused as well.
func dropThoughts(q *wire.Request, drop func(wire.Thought) bool) (changes []wire.Change, thoughts int) {
	for i := range q.Messages {
		c, m := wire.Change{Message: i}, &q.Messages[i]
		for j, t := range m.Thoughts {
			if drop(t) {
				c.Drop = append(c.Drop, j)
			}
		}
		left := q.Items || m.Calls || len(c.Drop) < len(m.Thoughts) || slices.ContainsFunc(m.Texts, func(t string) bool { return !blank(t) })
		if len(c.Drop) > 0 && left {
			thoughts += len(c.Drop)
			changes = append(changes, c)
		}
	}
	return changes, thoughts
}
