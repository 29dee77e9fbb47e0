package abi

import "encoding/binary"

// An input is the values of options that are still to be read. After the first value that is
// cut it is bad, and gives empty ones.
type input struct {
	rest []byte
	bad  bool
}

// cut reports whether the values were not those of these options.
func (in *input) cut() bool { return in.bad || len(in.rest) > 0 }

func (in *input) number() uint32 {
	if len(in.rest) < 4 {
		in.bad, in.rest = true, nil
		return 0
	}
	n := binary.LittleEndian.Uint32(in.rest)
	in.rest = in.rest[4:]
	return n
}

func (in *input) text() string {
	n := in.number()
	if uint64(n) > uint64(len(in.rest)) {
		in.bad, in.rest = true, nil
		return ""
	}
	s := string(in.rest[:n])
	in.rest = in.rest[n:]
	return s
}

// texts reads n texts. A text has at least 4 bytes, so n is bounded by what is there. The
// list is never nil.
func (in *input) texts(n uint32) []string {
	if uint64(n) > uint64(len(in.rest)/4) {
		in.bad, in.rest = true, nil
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = in.text()
	}
	return list
}

// list reads the number of texts, and the texts. An empty list is nil.
func (in *input) list() []string {
	if n := in.number(); n > 0 {
		return in.texts(n)
	}
	return nil
}
