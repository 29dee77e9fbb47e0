package blocks

import "github.com/sotto-llm/sotto/wire"

// A Kept frame is one that is written later, or twice. Its memory is used again.
type Kept struct {
	wire.Frame
	On bool // a frame is kept
}

// Keep copies a frame.
func (k *Kept) Keep(f wire.Frame) {
	k.On, k.At = true, f.At
	k.Raw = append(k.Raw[:0], f.Raw...)
	k.Type = append(k.Type[:0], f.Type...)
	k.Data = append(k.Data[:0], f.Data...)
}
