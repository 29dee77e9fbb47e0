package recordship

import (
	"container/list"
	"sync"
)

// ranges keeps the parts of objects that were read last, up to some bytes. Objects are never
// changed under their names.
type ranges struct {
	mu    sync.Mutex
	most  int64
	held  int64
	order list.List // of *keptRange, the last used first
	parts map[rangeKey]*list.Element
}

type rangeKey struct {
	name    string
	from, n int64
}

type keptRange struct {
	key  rangeKey
	data []byte
}

func newRanges(most int64) *ranges {
	return &ranges{most: most, parts: map[rangeKey]*list.Element{}}
}

// get returns a part that is kept, or nil. Nobody changes it.
func (k *ranges) get(key rangeKey) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.parts[key]
	if e == nil {
		return nil
	}
	k.order.MoveToFront(e)
	return e.Value.(*keptRange).data
}

// put keeps a part, in place of those that were not used for longest. One that would take the
// place of many is not kept.
func (k *ranges) put(key rangeKey, data []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.parts[key] != nil || int64(len(data)) > k.most/8 {
		return
	}
	k.parts[key] = k.order.PushFront(&keptRange{key, data})
	k.held += int64(len(data))
	for k.held > k.most {
		last := k.order.Back()
		x := k.order.Remove(last).(*keptRange)
		delete(k.parts, x.key)
		k.held -= int64(len(x.data))
	}
}
