package serving

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

func memory() int64 { return memoryIn(os.DirFS("/")) }

// memoryIn returns the memory that this process may use: the machine's, or the
// smallest limit of its control groups and their parents.
func memoryIn(root fs.FS) int64 {
	least := totalMemory(root)
	text, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		// HIERARCHY:CONTROLLERS:PATH; in version 2, CONTROLLERS is empty.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		folder, file := "", ""
		switch {
		case parts[1] == "":
			folder, file = "sys/fs/cgroup", "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			folder, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// A container may see its own group as the root of the tree, although its
		// path is valid only on the host. Then only the last step finds a file.
		for group := path.Join("/", parts[2]); ; group = path.Dir(group) {
			if n := readNumber(root, path.Join(folder, group, file)); n > 0 {
				least = min(least, n)
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}

// totalMemory returns the machine's memory.
func totalMemory(root fs.FS) int64 {
	text, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			if kib, err := strconv.ParseInt(fields[1], 10, 50); err == nil && kib > 0 {
				return kib << 10
			}
		}
	}
	return unknownMemory
}

// readNumber reads a file that holds a number. It returns 0 for a word such as max.
func readNumber(root fs.FS, name string) int64 {
	text, _ := fs.ReadFile(root, name)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}
