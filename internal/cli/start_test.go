package cli

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// seldomUsed are the packages of others that compile regular expressions whatever the
// command is: for the console's page, and for the names of buckets. Together they take some
// 2 ms.
var seldomUsed = map[string]bool{
	"github.com/gorilla/css/scanner":           true,
	"github.com/microcosm-cc/bluemonday":       true,
	"github.com/microcosm-cc/bluemonday/css":   true,
	"github.com/minio/minio-go/v7/pkg/s3utils": true,
	"github.com/yuin/goldmark/extension":       true,
}

// TestStart: no package does much work when the program starts, whatever the
// command is. What a command may not need is made when it is used.
func TestStart(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Under this name the test program is the command, and makes nothing early for tests.
	cmd := &exec.Cmd{Path: program, Args: []string{"sotto", "version"}, Env: append(os.Environ(), "GODEBUG=inittrace=1")}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^init (\S+) .* (\d+) allocs$`)
	total, seen := 0, 0
	for lines := bufio.NewScanner(&log); lines.Scan(); {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil || seldomUsed[m[1]] {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if seen, total = seen+1, total+n; n > 1000 {
			t.Errorf("%s makes %d allocations at every start", m[1], n)
		}
	}
	if seen < 20 || total > 14_000 {
		t.Errorf("%d packages make %d allocations at every start", seen, total)
	}
}
