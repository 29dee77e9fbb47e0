package transact

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// A Tx is a transaction on the values of one owner. It sees its own changes. A fault of the
// level ends it: Get then returns nil, and the transaction returns the fault, whatever its
// function makes of that.
type Tx struct {
	space *Space
	owner string
	fault error
	read  map[Key][]byte // values as they were read, sealed; nil if there was none
	order []Key          // of read
	wrote map[Key]*[]byte
	write []written
}

// A written is a change that is not sealed yet.
type written struct {
	table Table
	name  Key
	value []byte // nil deletes
}

// View runs a transaction that changes nothing. Values that it reads may be of different moments.
func (s *Space) View(owner string, f func(*Tx) error) error {
	t := s.begin(owner)
	err := f(t)
	if t.fault != nil {
		return t.fault
	}
	return err
}

// Update runs a transaction. If others change meanwhile what it has read, it begins again, so f
// must leave nothing behind except what it returns at last. An error of f ends it without a
// change, if what f has read is still so.
func (s *Space) Update(owner string, f func(*Tx) error) error {
	for try := 1; ; try++ {
		t := s.begin(owner)
		err := f(t)
		if t.fault != nil {
			return t.fault
		}
		if err != nil {
			return err
		}
		if err = t.commit(); !errors.Is(err, ErrChanged) || try == tries {
			return err
		}
		time.Sleep(time.Duration(rand.IntN(1+min(try, 20))) * time.Millisecond)
	}
}

func (s *Space) begin(owner string) *Tx {
	return &Tx{space: s, owner: owner, read: map[Key][]byte{}, wrote: map[Key]*[]byte{}}
}

// Get returns a value; nil if there is none.
func (t *Tx) Get(name []byte) []byte {
	key := t.space.nameOf(Values, t.owner, name)
	if value := t.wrote[key]; value != nil {
		return *value
	}
	sealed, known := t.read[key]
	if !known {
		if t.fault != nil {
			return nil
		}
		var err error
		if sealed, err = t.space.read(t.owner, Values, key); err != nil {
			t.fault = err
			return nil
		}
		t.read[key], t.order = sealed, append(t.order, key)
	}
	if sealed == nil {
		return nil
	}
	value, err := t.space.open(key, sealed)
	if err != nil {
		t.fault = err
		return nil
	}
	return value
}

// Put writes a value.
func (t *Tx) Put(name, value []byte) error {
	if len(value) > t.space.limits.Value {
		return fmt.Errorf("%w: one has %d bytes, and %d is the limit", ErrFull, len(value), t.space.limits.Value)
	}
	if value == nil {
		value = []byte{}
	}
	t.set(name, value)
	return nil
}

// Delete deletes a value.
func (t *Tx) Delete(name []byte) { t.set(name, nil) }

func (t *Tx) set(name, value []byte) {
	key := t.space.nameOf(Values, t.owner, name)
	t.wrote[key] = &value
	t.add(Values, key, value)
}

// PutRow writes a row, which no transaction reads.
func (t *Tx) PutRow(name, value []byte) {
	t.add(Rows, t.space.nameOf(Rows, t.owner, name), value)
}

// DeleteRow deletes a row.
func (t *Tx) DeleteRow(name []byte) { t.add(Rows, t.space.nameOf(Rows, t.owner, name), nil) }

// add keeps the last write of each name.
func (t *Tx) add(table Table, name Key, value []byte) {
	for i := range t.write {
		if w := &t.write[i]; w.table == table && w.name == name {
			w.value = value
			return
		}
	}
	t.write = append(t.write, written{table, name, value})
}

// commit makes the changes. The same values are sent again if nobody knows whether they arrived.
func (t *Tx) commit() error {
	if len(t.write) == 0 {
		return nil
	}
	c := Change{Lease: t.space.lease, Keep: t.space.limits.Keep, Bytes: t.space.limits.Bytes}
	for _, name := range t.order {
		sealed := t.read[name]
		c.Checks = append(c.Checks, Check{name, sealed[:min(StampSize, len(sealed))]})
	}
	for _, w := range t.write {
		var sealed []byte
		if w.value != nil {
			sealed = t.space.box.Seal(w.name[:], w.value)
		}
		c.Writes = append(c.Writes, Write{w.table, w.name, sealed})
	}
	return patiently(func() error { return t.space.level.Commit(t.space.place(t.owner), c) })
}
