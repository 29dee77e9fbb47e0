package scripted

// play streams the response, event by event.
func (r *response) play() error {
	r.s = r.stream(eventStream)
	for _, name := range []string{"response.created", "response.in_progress"} {
		if err := r.event(name, object{{"response", r.object("in_progress")}}); err != nil {
			return err
		}
	}
	items := r.items()
	for i, it := range items {
		cutOff := i == len(items)-1 && r.model.Fault != ""
		if err := r.playItem(i, it, cutOff); err != nil {
			return err
		}
	}
	fail := func() error { return r.event("response.failed", object{{"response", r.object("failed")}}) }
	if ended, err := r.s.interrupted(fail); ended {
		return err
	}
	status := r.endStatus()
	return r.event("response."+status, object{{"response", r.object(status)}})
}

// event sends an event: its type and number, then the members.
func (r *response) event(name string, members object) error {
	v := append(object{{"type", name}, {"sequence_number", r.seq}}, members...)
	r.seq++
	return r.s.event(name, v, 0)
}

// playItem streams item i of the output. An item that is cut off does not end.
func (r *response) playItem(i int, it responseItem, cutOff bool) error {
	if err := r.event("response.output_item.added", object{{"output_index", i}, {"item", it.whole("in_progress")}}); err != nil {
		return err
	}
	play := r.playPart
	switch {
	case it.call != nil:
		play = r.playCall
	case it.sealed != "":
		play = r.playSummary
	}
	if err := play(i, it, cutOff); err != nil || cutOff {
		return err
	}
	done := it.whole(r.itemStatus(it))
	r.output = append(r.output, done)
	return r.event("response.output_item.done", object{{"output_index", i}, {"item", done}})
}

// playPart streams the only part of a message or a thought.
func (r *response) playPart(i int, it responseItem, cutOff bool) error {
	where := object{{"item_id", it.id}, {"output_index", i}, {"content_index", 0}}
	at := func(more ...member) object { return append(where[:len(where):len(where)], more...) }
	kind := "response.output_text"
	if it.block.kind == thoughtPart {
		kind = "response.reasoning_text"
	}
	if err := r.event("response.content_part.added", at(member{"part", it.part("")})); err != nil {
		return err
	}
	for _, delta := range it.block.deltas {
		members := at(member{"delta", delta})
		if it.block.kind == textPart {
			members = append(members, member{"logprobs", array{}}, member{"obfuscation", r.padding(len(delta))})
		}
		if err := r.event(kind+".delta", members); err != nil {
			return err
		}
	}
	if cutOff {
		return nil
	}
	text := it.block.text()
	done := at(member{"text", text})
	if it.block.kind == textPart {
		done = append(done, member{"logprobs", array{}})
	}
	if err := r.event(kind+".done", done); err != nil {
		return err
	}
	return r.event("response.content_part.done", at(member{"part", it.part(text)}))
}

// playSummary streams the only part of the summary of an encrypted thought.
func (r *response) playSummary(i int, it responseItem, cutOff bool) error {
	at := func(more ...member) object {
		return append(object{{"item_id", it.id}, {"output_index", i}, {"summary_index", 0}}, more...)
	}
	if err := r.event("response.reasoning_summary_part.added", at(member{"part", it.part("")})); err != nil {
		return err
	}
	for _, delta := range it.block.deltas {
		if err := r.event("response.reasoning_summary_text.delta", at(member{"delta", delta})); err != nil {
			return err
		}
	}
	if cutOff {
		return nil
	}
	if err := r.event("response.reasoning_summary_text.done", at(member{"text", it.block.text()})); err != nil {
		return err
	}
	return r.event("response.reasoning_summary_part.done", at(member{"part", it.part(it.block.text())}))
}

// padding is random text that hides a delta's length from eavesdroppers.
func (r *response) padding(n int) string { return r.id[5:][:max(0, 16-n)] }

// playCall streams the arguments of a function call.
func (r *response) playCall(i int, it responseItem, _ bool) error {
	where := object{{"item_id", it.id}, {"output_index", i}}
	for _, bit := range it.block.deltas {
		if err := r.event("response.function_call_arguments.delta", append(where[:2:2], member{"delta", bit})); err != nil {
			return err
		}
	}
	return r.event("response.function_call_arguments.done", append(where[:2:2], member{"arguments", it.block.text()}))
}
