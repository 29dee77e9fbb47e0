package serving

import (
	"testing"
	"testing/fstest"
)

// TestMemory: the smallest of the machine's memory and the limits of the control
// groups counts. The test covers both versions, and a container that sees its own
// group as the root.
func TestMemory(t *testing.T) {
	const meminfo = "MemTotal:        8388608 kB\nMemFree: 1 kB\n"
	for name, v := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known": {map[string]string{}, unknownMemory},
		"machine":       {map[string]string{"proc/meminfo": meminfo}, 8 << 30},
		"no limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user/x\n",
			"sys/fs/cgroup/user/x/memory.max": "max\n"}, 8 << 30},
		"version 2": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user/x\n",
			"sys/fs/cgroup/user/x/memory.max": "2147483648\n", "sys/fs/cgroup/user/memory.max": "max\n"}, 2 << 30},
		"a parent's": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user/x\n",
			"sys/fs/cgroup/user/x/memory.max": "2147483648\n", "sys/fs/cgroup/user/memory.max": "1073741824\n"}, 1 << 30},
		"container": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../host/path\n",
			"sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"version 1": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpu,cpuacct:/\n2:memory:/docker/1\n",
			"sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "3221225472\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 3 << 30},
		"garbage": {map[string]string{"proc/meminfo": "MemTotal: many\n", "proc/self/cgroup": "x\n::\n0::\n"}, unknownMemory},
	} {
		files := fstest.MapFS{}
		for path, text := range v.files {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryIn(files); got != v.want {
			t.Errorf("%s: %d, want %d", name, got, v.want)
		}
	}
	if n := DefaultMemory(); n < 16<<20 || n%(1<<20) != 0 || n > 1<<50 {
		t.Errorf("%d bytes on this machine", n)
	}
}
