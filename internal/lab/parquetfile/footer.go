// Package parquetfile reads and writes the rows of Parquet files. The files are
// hostile: what the library that decodes them would trust is checked first, so that
// no file takes memory without bound, and a panic in the library is an error.
package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Bounds on a file.
const (
	maxFooter   = 16 << 20 // bytes
	maxElements = 500_000  // structs in the lists of a footer, such as column chunks
	maxColumns  = 4096     // leaves of the schema
	maxNesting  = 64       // of the schema
	maxThrift   = 16       // nesting of the structs that describe a file
	maxValues   = 16 << 20 // of a page
	maxRowItems = 1 << 20  // values of one column in a row
)

// Magic begins and ends a Parquet file.
const Magic = "PAR1"

// readFooter reads the description of a file, within the bounds.
func readFooter(r io.ReaderAt, size int64) (*format.FileMetaData, error) {
	var tail [8]byte
	if size < 12 {
		return nil, errors.New("the file is too short")
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case Magic:
	case "PARE":
		return nil, errors.New("the file is encrypted")
	default:
		return nil, errors.New("the end of the file is missing")
	}
	length := int64(binary.LittleEndian.Uint32(tail[:4]))
	if length > size-12 {
		return nil, fmt.Errorf("a footer of %d bytes does not fit into the file", length)
	}
	if length > maxFooter {
		return nil, fmt.Errorf("the footer has %d bytes, and %d are the most", length, maxFooter)
	}
	footer := make([]byte, length)
	if _, err := r.ReadAt(footer, size-8-length); err != nil {
		return nil, err
	}
	if _, err := (&thriftCheck{data: footer}).whole(); err != nil {
		return nil, fmt.Errorf("the footer: %w", err)
	}
	meta := new(format.FileMetaData)
	err := safely(func() error {
		return thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(footer)).Decode(meta)
	})
	if err != nil {
		return nil, fmt.Errorf("the footer: %w", err)
	}
	return meta, nil
}

// safely returns a panic of the library as an error, also one by a wrong address.
func safely(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the file is corrupt: %v", v)
		}
	}()
	return do()
}

// A thriftCheck walks over a struct in the compact protocol of Thrift. The decoder of
// the library recurses as deep as the data says, and makes lists as long as the data
// says; after this check, both are bounded.
type thriftCheck struct {
	data     []byte
	at       int
	elements int // structs in lists
}

var errThrift = errors.New("it is corrupt or cut off")

// The types of the compact protocol.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftInt16
	thriftInt32
	thriftInt64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

// whole checks a struct, and returns its length.
func (c *thriftCheck) whole() (int, error) {
	err := c.structure(maxThrift)
	return c.at, err
}

func (c *thriftCheck) structure(depth int) error {
	for {
		b, err := c.skip(1)
		if err != nil {
			return err
		}
		kind := b[0] & 0xf
		if b[0] == thriftStop {
			return nil
		}
		if b[0]>>4 == 0 { // the field's number follows
			if _, err := c.uvarint(); err != nil {
				return err
			}
		}
		if kind == thriftTrue || kind == thriftFalse {
			continue // the type is the value
		}
		if err := c.value(kind, depth); err != nil {
			return err
		}
	}
}

func (c *thriftCheck) value(kind byte, depth int) error {
	if depth <= 0 {
		return errors.New("it nests too deep")
	}
	var err error
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		_, err = c.skip(1)
	case thriftInt16, thriftInt32, thriftInt64:
		_, err = c.uvarint()
	case thriftDouble:
		_, err = c.skip(8)
	case thriftBinary:
		var n uint64
		if n, err = c.uvarint(); err == nil {
			_, err = c.skip(n)
		}
	case thriftList, thriftSet:
		err = c.list(depth)
	case thriftStruct:
		err = c.structure(depth - 1)
	default: // there is no map in what describes a Parquet file
		err = errThrift
	}
	return err
}

func (c *thriftCheck) list(depth int) error {
	head, err := c.skip(1)
	if err != nil {
		return err
	}
	kind, n := head[0]&0xf, uint64(head[0]>>4)
	if n == 15 {
		if n, err = c.uvarint(); err != nil {
			return err
		}
	}
	if n > uint64(len(c.data)-c.at) { // an element has at least one byte
		return errThrift
	}
	if kind == thriftStruct {
		if c.elements += int(n); c.elements > maxElements {
			return fmt.Errorf("it lists more than %d parts", maxElements)
		}
	}
	for range n {
		if err := c.value(kind, depth-1); err != nil {
			return err
		}
	}
	return nil
}

func (c *thriftCheck) skip(n uint64) ([]byte, error) {
	if n > uint64(len(c.data)-c.at) {
		return nil, errThrift
	}
	part := c.data[c.at : c.at+int(n)]
	c.at += int(n)
	return part, nil
}

func (c *thriftCheck) uvarint() (uint64, error) {
	v, n := binary.Uvarint(c.data[c.at:])
	if n <= 0 {
		return 0, errThrift
	}
	c.at += n
	return v, nil
}
