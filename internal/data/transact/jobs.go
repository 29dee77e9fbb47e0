package transact

import (
	"encoding/json"
	"time"
)

// A Job is work that somebody has to do, for an owner.
type Job struct {
	Owner string `json:"owner"`
	Kind  string `json:"kind"`
	ID    string `json:"id"`
}

func (s *Space) nameOfJob(j Job) Key {
	return s.nameOf(Jobs, j.Owner, []byte(j.Kind+"\x00"+j.ID))
}

// Open opens a job. This process gets its lease if nobody has it.
func (t *Tx) Open(kind, id string) {
	j := Job{t.owner, kind, id}
	data, err := json.Marshal(j)
	if err != nil { // it has strings alone
		t.fault = err
		return
	}
	t.add(Jobs, t.space.nameOfJob(j), data)
}

// Close says that nobody has to work on a job any more.
func (t *Tx) Close(kind, id string) {
	t.add(Jobs, t.space.nameOfJob(Job{t.owner, kind, id}), nil)
}

// Heartbeat is how often the leases of jobs must be renewed.
func (s *Space) Heartbeat() time.Duration { return heartbeat }

// Beat renews the leases of jobs of this process, and returns the state of each. If the level
// cannot be reached, there is none.
func (s *Space) Beat(jobs []Job) ([]State, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	return s.level.Beat(s.group, s.lease, s.namesOf(jobs))
}

func (s *Space) namesOf(jobs []Job) (names []Key) {
	for _, j := range jobs {
		names = append(names, s.nameOfJob(j))
	}
	return names
}

// Idle returns jobs on which nobody works, at most so many, and after what time the next lease
// ends unless it is renewed; less than zero if there is none. What nobody with the secret has
// written is left out.
func (s *Space) Idle(most int) (jobs []Job, next time.Duration, err error) {
	all, next, err := s.level.Idle(s.group, most)
	if err != nil {
		return nil, -1, err
	}
	for name, sealed := range all {
		var j Job
		data, err := s.open(name, sealed)
		if err == nil && json.Unmarshal(data, &j) == nil && s.nameOfJob(j) == name {
			jobs = append(jobs, j)
		}
	}
	return jobs, next, nil
}

// Claim takes the lease of an idle job. It reports false if somebody else was faster, or the job is closed.
func (s *Space) Claim(j Job) (bool, error) {
	return s.level.Claim(s.group, s.lease, s.nameOfJob(j))
}

// Release gives the leases of jobs back, so that others need not wait for their end.
func (s *Space) Release(jobs []Job) {
	if len(jobs) > 0 {
		_ = s.level.Release(s.group, s.lease.Holder, s.namesOf(jobs)) // if this fails, they end by themselves
	}
}
