package a2aserver

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

// emptyStore is a store in a file that goes with the test.
func emptyStore(t *testing.T, l Limits) *store {
	t.Helper()
	s, err := openStore("", l.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// finishedTask is a task with an answer of a length.
func finishedTask(n, length int) *a2a.Task {
	task := a2a.NewSubmittedTask(a2a.TaskInfo{TaskID: a2a.TaskID(fmt.Sprintf("task-%06d", n)), ContextID: "c"}, message("Hi").Message)
	task.Status.State = a2a.TaskStateCompleted
	task.Artifacts = []*a2a.Artifact{{ID: answerID, Parts: a2a.ContentParts{a2a.NewTextPart(strings.Repeat("x", length))}}}
	return task
}

func create(t *testing.T, ctx context.Context, s *store, task *a2a.Task) {
	t.Helper()
	if _, err := s.Create(ctx, task); err != nil {
		t.Fatal(err)
	}
}

// TestPageBytes: a page ends at its bytes, the next begins where it ended, and
// a task that is larger than a page has one of its own.
func TestPageBytes(t *testing.T) {
	const page, each, large = 256 << 10, 30 << 10, 400 << 10
	s := emptyStore(t, Limits{Page: page})
	for i := range 40 {
		length := each
		if i == 20 {
			length = large
		}
		create(t, t.Context(), s, finishedTask(i, length))
	}
	seen := map[a2a.TaskID]bool{}
	req := &a2a.ListTasksRequest{PageSize: 100, IncludeArtifacts: true}
	for pages := 1; ; pages++ {
		res, err := s.List(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > page+8<<10 && len(res.Tasks) > 1 || res.TotalSize != 40 {
			t.Errorf("a page of %d bytes, %d tasks of %d", len(data), len(res.Tasks), res.TotalSize)
		}
		for _, task := range res.Tasks {
			if seen[task.ID] {
				t.Errorf("%s came twice", task.ID)
			}
			seen[task.ID] = true
		}
		if req.PageToken = res.NextPageToken; req.PageToken == "" {
			break
		}
		if len(res.Tasks) == 0 || pages > 40 {
			t.Fatal("the pages do not end")
		}
	}
	if len(seen) != 40 {
		t.Errorf("%d tasks of 40", len(seen))
	}
}

// TestPageStable: tasks that are added or changed between two pages neither
// repeat nor hide one that stood after the first.
func TestPageStable(t *testing.T) {
	s := emptyStore(t, Limits{})
	for i := range 9 {
		create(t, t.Context(), s, finishedTask(i, 1))
	}
	running := a2a.NewSubmittedTask(a2a.TaskInfo{TaskID: "running"}, message("Hi").Message)
	create(t, t.Context(), s, running)
	first, err := s.List(t.Context(), &a2a.ListTasksRequest{PageSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		create(t, t.Context(), s, finishedTask(100+i, 1))
	}
	if _, err := s.Update(t.Context(), &taskstore.UpdateRequest{Task: running}); err != nil {
		t.Fatal(err)
	}
	second, err := s.List(t.Context(), &a2a.ListTasksRequest{PageSize: 100, PageToken: first.NextPageToken})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, task := range second.Tasks {
		got = append(got, string(task.ID))
	}
	if want := "task-000005 task-000004 task-000003 task-000002 task-000001 task-000000"; strings.Join(got, " ") != want {
		t.Errorf("the second page holds %s, want %s", got, want)
	}
}

// allocated is how many bytes a call allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	f() // what is made once
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestPageMemory: a page costs the memory of the tasks on it, whatever number is
// stored, and nothing for what it leaves out.
func TestPageMemory(t *testing.T) {
	pageOf := func(s *store, req *a2a.ListTasksRequest) uint64 {
		return allocated(func() {
			if res, err := s.List(t.Context(), req); err != nil || len(res.Tasks) == 0 {
				t.Fatal(res, err)
			}
		})
	}
	s := emptyStore(t, Limits{})
	const n = 500
	var cost [2]uint64
	for half := range cost {
		for i := range n {
			create(t, t.Context(), s, finishedTask(half*n+i, 2000))
		}
		cost[half] = pageOf(s, &a2a.ListTasksRequest{PageSize: 20, IncludeArtifacts: true, Status: a2a.TaskStateCompleted, ContextID: "c"})
	}
	if cost[1] > cost[0]+cost[0]/10+4096 {
		t.Errorf("a page of 20 costs %d bytes among %d tasks and %d among %d", cost[0], n, cost[1], 2*n)
	}
	s = emptyStore(t, Limits{})
	for i := range 10 {
		create(t, t.Context(), s, finishedTask(i, 1<<20))
	}
	if cost := pageOf(s, &a2a.ListTasksRequest{}); cost > 256<<10 {
		t.Errorf("a page without artifacts, whose tasks hold 1 MiB each, costs %d bytes", cost)
	}
}

// TestHugeTask: a task takes messages up to its limit, so that no answer that
// holds it is larger than the limits say.
func TestHugeTask(t *testing.T) {
	h := serve(t, Config{Mind: mind(Outcome{Question: "More?"}, nil), Limits: Limits{Task: 64 << 10}})
	for i, b := range bindings {
		t.Run(b.name, func(t *testing.T) {
			c := client(t, h.url(), i)
			task := send(t, c, message("Hi"))
			var err error
			for n := 0; err == nil && n < 20; n++ {
				_, err = c.SendMessage(t.Context(), follow(strings.Repeat("y", 10<<10), task))
			}
			if err == nil || !strings.Contains(err.Error(), "65536 is the limit") {
				t.Errorf("20 messages of 10 KiB: %v", err)
			}
			got, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
			if err != nil {
				t.Fatal(err)
			}
			if data, _ := json.Marshal(got); len(data) > 80<<10 {
				t.Errorf("the task holds %d bytes", len(data))
			}
			if _, err := c.SendMessage(t.Context(), message(strings.Repeat("<", 20<<10))); err == nil {
				t.Error("a message whose JSON is longer than a task may be was taken")
			}
		})
	}
}

// TestFairRetention: where room is made, the owner that keeps the most gives it.
func TestFairRetention(t *testing.T) {
	s := emptyStore(t, Limits{Tasks: 50})
	ann, bob := visit{caller: "ann"}.in(t.Context()), visit{caller: "bob"}.in(t.Context())
	for i := range 5 {
		create(t, ann, s, finishedTask(i, 1000))
	}
	for i := range 500 {
		create(t, bob, s, finishedTask(1000+i, 10))
	}
	res, err := s.List(ann, &a2a.ListTasksRequest{})
	if err != nil || len(res.Tasks) != 5 {
		t.Errorf("ann has %d tasks of 5 after bob made 500, %v", len(res.Tasks), err)
	}
}

// TestNames: what a client names is short and holds no control characters.
func TestNames(t *testing.T) {
	h := serve(t, Config{Mind: says("Yes.")})
	for _, name := range []string{strings.Repeat("c", 257), "a\x00b", "a\x1b[2Jb", "a\u0085b"} {
		for i, b := range bindings {
			for field, set := range map[string]func(*a2a.Message){
				"message":   func(m *a2a.Message) { m.ID = name },
				"context":   func(m *a2a.Message) { m.ContextID = name },
				"reference": func(m *a2a.Message) { m.ReferenceTasks = []a2a.TaskID{a2a.TaskID(name)} },
				"extension": func(m *a2a.Message) { m.Extensions = []string{name} },
			} {
				req := message("Hi")
				set(req.Message)
				if _, err := client(t, h.url(), i).SendMessage(t.Context(), req); err == nil || !strings.Contains(err.Error(), "control character") {
					t.Errorf("%s, %s %.20q: %v", b.name, field, name, err)
				}
			}
		}
	}
	for name, want := range map[string]int{"..%2f..%2fetc%2fpasswd": 400, "a2a%2fb": 404} { // access control refuses dots
		if status, body, _ := get(t, "GET", h.url()+restPath+"/tasks/"+name, ""); status != want {
			t.Errorf("a task that is named %s: %d %s, want %d", name, status, body, want)
		}
	}
}

// TestEarlierTasksByAge: the finished tasks of a context come in the order in which they
// began, the latest first, whichever was updated last.
func TestEarlierTasksByAge(t *testing.T) {
	s, err := openStore(file(t), Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	began := time.Unix(1_700_000_000, 0)
	for i, updated := range []int{9, 4, 7, 5} {
		s.keeper.(*fileKeeper).index.put(a2a.TaskID(strconv.Itoa(i)), entry{
			owner: "ann", context: "c", state: a2a.TaskStateCompleted,
			created: began.Add(time.Duration(i) * time.Second), updated: began.Add(time.Duration(updated) * time.Minute),
		})
	}
	var got []string
	for _, l := range answeredIn(s.keeper.(*fileKeeper).index.of("ann"), "c") {
		got = append(got, string(l.id))
	}
	if want := []string{"3", "2", "1", "0"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
