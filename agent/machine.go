package agent

import "context"

// A state is a state of the machine of a run.
//
//	load       are the bounds kept, which cycle is next  → assemble | terminate
//	assemble   the prompt of the cycle                   → invoke
//	invoke     one reply of the model                    → parse | invoke again | finalize
//	parse      what is thought, said and called in it    → dispatch | invoke again | finalize
//	dispatch   the calls, one after another              → invoke | finalize
//	finalize   the reflection, and how similar it is to  → load
//	           earlier ones
//	terminate  the end of the run; it is suspended, or   → ended | load
//	           done and extended, if more follows
//
// A conversation ([Turn.Converse]) is the same machine from invoke to finalize.
// What a state learns from outside it takes from the journal if it was recorded;
// otherwise it records it. So a machine that begins with the record of a killed run
// reaches the point where that run stopped.
type state uint8

const (
	load state = iota
	assemble
	invoke
	parse
	dispatch
	finalize
	terminate
	ended
)

var stateNames = [...]string{"load", "assemble", "invoke", "parse", "dispatch", "finalize", "terminate", "ended"}

func (s state) String() string { return stateNames[s] }

// A machine runs cycles, or one conversation, which has no run.
type machine struct {
	*run
	*turn
}

var steps = [...]func(*machine, context.Context) (state, error){
	load:      (*machine).load,
	assemble:  (*machine).assemble,
	invoke:    (*machine).invoke,
	parse:     (*machine).parse,
	dispatch:  (*machine).dispatch,
	finalize:  (*machine).finalize,
	terminate: (*machine).terminate,
}

// from runs the machine from one state until it reaches another.
func (m *machine) from(ctx context.Context, s, until state) error {
	for s != until {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if s, err = steps[s](m, ctx); err != nil {
			return err
		}
		point(s.String())
	}
	return nil
}

func (m *machine) load(ctx context.Context) (state, error) {
	if err := m.run.resume(ctx); err != nil {
		return 0, err
	}
	if m.run.over() {
		return terminate, nil
	}
	m.run.cycle++
	m.turn = m.run.newTurn()
	return assemble, m.run.startCycle(ctx)
}

func (m *machine) assemble(ctx context.Context) (state, error) {
	messages, err := m.run.prompt(ctx)
	if err != nil {
		return 0, err
	}
	m.turn.begin(messages)
	return invoke, nil
}

func (m *machine) invoke(ctx context.Context) (state, error) {
	switch again, err := m.turn.ask(ctx); {
	case err != nil:
		return 0, err
	case again:
		return invoke, nil
	case m.turn.status != "":
		return finalize, nil
	}
	return parse, nil
}

func (m *machine) parse(ctx context.Context) (state, error) {
	if err := m.turn.splitReply(); err != nil {
		return 0, err
	}
	switch {
	case m.turn.status != "":
		return finalize, nil
	case len(m.turn.calls) > 0:
		return dispatch, nil
	}
	return invoke, nil
}

func (m *machine) dispatch(ctx context.Context) (state, error) {
	if err := m.turn.work(ctx); err != nil {
		return 0, err
	}
	if m.turn.status != "" {
		return finalize, nil
	}
	return invoke, nil
}

func (m *machine) finalize(ctx context.Context) (state, error) {
	return load, m.run.endCycle(ctx, m.turn)
}

func (m *machine) terminate(ctx context.Context) (state, error) {
	r, recorded := m.run, !m.run.journal.live()
	if err := r.end(ctx); err != nil {
		return 0, err
	}
	switch {
	case !recorded: // it ends now
		return ended, nil
	case !r.journal.live(): // it was begun again
		return load, nil
	case r.journal.w == nil:
		return ended, nil
	case r.summary.Status == Suspended || r.summary.Status == Failed:
		return load, r.begin(ctx, true)
	case r.summary.Status == Done && r.x.Cycles > r.planned:
		return load, nil
	}
	return ended, nil
}
