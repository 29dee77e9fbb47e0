package console

import "strings"

// words are all texts of the page, by the names that templates and handlers use. A
// test checks that each is used and that none is missing.
var words = map[string]string{
	"name": "Sotto", "skip": "Skip to the content", "rail": "Screens", "trail": "Place", "logout": "Log out",
	"live": "Live", "live.off": "Paused", "live.title": "Follow the record (l)", "keys": "Keys", "keys.open": "Keys (?)", "close": "Close",
	"record": "Record",

	"screen.exchanges": "Exchanges", "screen.events": "Events", "screen.runs": "Runs", "screen.sessions": "Session", "screen.memory": "Memory", "screen.search": "Search", "screen.evaluation": "Evaluation", "screen.health": "Health", "screen.playground": "Playground",
	"screen.schedules": "Schedules", "schedule.when": "When", "schedule.next": "Next", "schedule.never": "never", "schedule.runs": "Runs of the schedule", "schedule.due": "Due", "schedule.began": "Started", "schedule.ended": "Ended", "schedule.outcome": "Outcome", "schedule.run": "Run",
	"schedule.said": "Answer", "schedule.times": "time|times", "schedule.processes": "processes", "schedule.none": "Nothing was due yet.", "schedule.nothing": "No agent has a schedule. The key schedule of an agent's file makes one.",
	"screen.chat": "Chat", "screen.studies": "Studies", "screen.tasks": "Tasks",

	"lead.fine": "None of these %s failed", "lead.fine.one": "%s, which did not fail", "lead.failed.one": "%s, which failed", "lead.failed": "%s of these %s failed", "lead.newest": "the newest of them:", "lead.leaked": "%s with a thought in the text", "lead.first": "the first:", "lead.looked": "Last looked:", "lead.open": "%s under way", "lead.memory": "Templates solved %s problems and failed at %s", "lead.memory.least": "Templates solved at least %s problems and failed at %s", "lead.memory.none": "No template was offered for a problem yet", "lead.best": "the best, with %s:",
	"lead.studies": "%s, of which %s finished", "lead.ill": "%s with cells that failed", "lead.unread": "%s that cannot be read", "study.list": "study|studies",
	"runs.failed": "failed", "runs.took": "took", "runs.newest": "Only the newest runs are sorted.",
	"study.answer": "The answer", "study.few": "%d repetitions: too few to rely on", "study.toofew": "too few", "study.pair": "Compare the first pair that differs",
	"study.runs": "runs", "study.streams": "streams of problems", "study.compare": "Compare the cell", "study.with": "with", "study.more": "The folder has more studies. Name one when you start the console.", "study.of": "of", "study.finished": "cell finished|cells finished", "study.page": "Download the report",
	"streams.right": "%s instead of %s: right answers", "streams.unshown": "This does not show a difference.", "streams.takes": "A problem takes", "streams.calls": "calls", "streams.calls.n": "call|calls", "streams.tokens": "tokens", "streams.interval": " (95 %% interval %+.1f … %+.1f)",
	"streams.note": "Over the problems that both streams have. A memory carries over from problem to problem, so one pair of streams says little about others: the answer of a study compares whole streams.", "streams.none": "The two streams have no problem in common.", "streams.partial": "A stream is too long to be read whole: not all of its problems are compared.",
	"streams.first": "The first difference:", "streams.open": "Compare the two runs of this problem", "streams.same.all": "Problem by problem, the two streams are the same.", "streams.problems": "Problems", "streams.problem": "Problem", "streams.n": "problem|problems", "streams.place": "Place", "streams.place.of": "problem", "streams.col.calls": "Calls", "streams.empty": "No problem is of this kind.",
	"streams.whole": "The streams", "streams.stream": "Stream", "streams.mode": "Mode", "streams.solved": "Solved", "streams.bymemory": "By a template alone", "streams.noanswer": "no answer", "streams.missing": "This stream does not have the problem.", "streams.missing.short": "not in it", "streams.hit": "by a template", "streams.hit.template": "a known template solved it", "streams.hit.paths": "with examples from memory",
	"streams.only.right": "right only in %s", "streams.effort": "with other calls or tokens", "streams.same": "the same", "streams.only.in": "only in %s", "streams.differing": "all that differ", "streams.repetition": "%s, repetition %d",
	"study.cells": "Cells", "study.cells.note": "a column for each repetition", "study.moregroups": "more combination is in the report.|more combinations are in the report.", "study.pictures": "Figures", "study.picture": "A figure", "study.measures": "Measures", "study.measures.note": "over the repetitions, with 95 % intervals",
	"study.mean": "Mean", "study.sd": "SD", "study.interval": "95 % interval", "study.range": "Least … largest", "study.faults": "Not readable, and left out", "study.methods": "How these figures are computed",

	"key.help": "show the keys", "key.goto": "go to", "key.move": "next and previous row", "key.open": "open the row",
	"key.search": "search", "key.beside": "newer and older exchange", "key.fold": "unfold or fold all thoughts",
	"key.raw": "the line in the record", "key.bytes": "bytes", "key.live": "follow the record, or stop",

	"filter.text": "Search all texts", "filter.more": "Filters", "filter.apply": "Apply", "filter.clear": "Clear all", "filter.any": "any",
	"filter.remove": "Remove the filter", "filter.model": "Model", "filter.route": "API or path", "filter.caller": "Caller", "filter.outcome": "Outcome",
	"filter.diagnostic": "Diagnostic", "filter.leaked": "Reasoning in the text", "filter.leak": "yes", "filter.from": "From", "filter.to": "To", "filter.id": "Response or client id",
	"filter.time": "2026-11-21, or 2h",

	"col.outcome": "Outcome", "col.time": "Time", "col.model": "Model", "col.route": "API", "col.caller": "Caller", "col.answer": "Answer", "col.thought": "Thought",
	"col.tokens": "Tokens", "col.took": "Took",

	"list.caption": "Exchanges, the newest first", "list.older": "Older", "list.newest": "Newest", "list.newer": "Newer", "list.page": "exchange|exchanges", "list.end": "the oldest exchange",
	"list.stopped": "The search stopped after %s events.", "list.on": "Search on", "list.unread": "long event was not searched|long events were not searched", "list.unreadable": "line of the record cannot be read: run sotto record verify|lines of the record cannot be read: run sotto record verify",
	"list.empty": "No exchanges yet.", "list.empty.do": "Record the requests that pass through a gateway:", "list.empty.command": "sotto serve --upstream http://localhost:11434 --record DIR",
	"list.none": "No exchange matches these filters.", "list.sealed": "This record is encrypted.", "list.sealed.do": "Start the console with the identity that opens it:",
	"list.sealed.command": "sotto console DIR --identity FILE", "list.silent": "no visible answer", "list.long": "long: open it to read it",

	"view.reading": "Reading", "view.compare": "Compare", "view.bytes": "Bytes", "view.request": "Request", "view.curl": "cURL", "view.raw": "Raw", "view.export": "Export",
	"view.forms": "Forms of this exchange", "older": "Older exchange", "newer": "Newer exchange",

	"step.trace": "Step by step", "step.address": "Address of this step:", "step.question": "Asked", "step.said": "Said", "step.model": "model", "step.agent": "agent", "step.run": "its run", "step.task": "task", "step.written": "written into the text", "step.inner": "step of this agent|steps of this agent",
	"step.result": "result", "step.failed": "failed with", "step.empty": "The result is empty.", "step.cut": "This is the beginning. The whole text:",
	"call.open": "It has no end in the record: it is still at work, or the run was stopped in it.", "call.unknown": "The record does not say what came of it.", "call.withheld": "It gave the agent its own earlier thoughts, which are not shown twice.",
	"gap.long": "This reply is too long for this page.", "gap.reply": "The record has no reply.", "gap.end": "The end of this reply is not in the record, and with it the answer, if there was one:", "gap.run": "The record has no events of this run. They may be in the record of another gateway, or were pruned.",
	"got.unknown": "The record does not say.", "got.same": "The answer above.", "got.nothing": "No text.",
	"why.limit": "not recorded: too long", "why.reasoning": "not recorded: this record keeps no thoughts", "why.answer": "not recorded: this record keeps no answers", "why.secret": "removed: a secret", "why.unnamed": "not recorded",
	"event.run": "Within its run", "event.text": "Text", "event.runstart": "Start of a run", "event.cyclestart": "Start of a cycle", "event.toolcall": "Use of a tool", "event.consent": "Answer of a person about a call", "event.extraction": "Extracted answer", "event.memory": "Memory", "event.advisory": "Advice", "event.error": "Error",
	"event.cycleend": "End of a cycle", "event.runend": "End of a run", "event.audit": "Somebody looked", "event.checkpoint": "Checkpoint",
	"thought": "thought", "thought.sealed": "sealed by the provider", "thought.beside": "in", "narration": "narration", "answer": "Answer", "answer.none": "No visible answer.", "answer.first": "The beginning; the rest is under Bytes.", "answer.plain": "Plain text",
	"answer.markdown": "Rendered", "answer.choice": "Choice", "call": "tool call", "diagnostics": "Diagnostics", "more": "more",
	"byte": "byte", "strip": "The bytes of the reply, to scale", "withheld": "are not in the record", "reply.none": "There is no reply.",

	"fact.took": "Took", "fact.tokens": "Tokens", "fact.tokens.thought": "of it thought", "fact.estimated": "estimated", "fact.api": "API", "fact.upstream.api": "The upstream speaks", "fact.left.out": "Left out of the request",
	"fact.path": "Path", "fact.upstream": "Upstream", "fact.retries": "Sent again", "fact.caller": "Caller", "fact.status": "Status", "fact.streamed": "streamed", "fact.id": "Response", "fact.exchange": "Exchange", "fact.ids": "Client", "fact.dialect": "Dialect", "fact.start": "start",
	"fact.end": "End", "fact.run": "Run", "fact.history": "History", "fact.size": "Recorded", "fact.purpose": "Purpose", "facts": "Facts", "fact.unsearched": "May hold secrets", "fact.error": "Error",

	"fact.route": "Route", "fact.leak": "Reasoning in the text", "fact.got": "The client got", "fact.thought": "The thought was", "fact.switch": "Switch of thinking",
	"fact.guard": "Guard", "guard": "What the guard decided", "guard.bytes": "bytes %s to %s", "fact.first.thought": "First thought", "fact.first.answer": "First answer", "fact.cached": "of it cached", "fact.cache.written": "written to the cache", "fact.session": "Session", "fact.trace": "Trace",
	"parameters": "Parameters", "tools": "Tools", "tools.digest": "The definition is too long to be recorded. Its SHA-256 is", "refusal": "Refusal",
	"change": "What the history policy changed", "change.sent": "The prompt as it was sent", "change.message": "message %s", "change.whole": "taken out whole", "change.removed": "removed", "change.added": "added",

	"reread": "Read it again", "reread.dialect": "Dialect", "reread.start": "Start", "reread.go": "Read", "reread.recorded": "as recorded", "reread.is": "This is another reading than the recorded one.", "reread.back": "Back to the recorded reading",
	"reread.same": "The answer is the same.", "diff.recorded": "recorded", "diff.reread": "this reading", "diff.long": "The answers differ, and are too long to be compared here.\n", "diff": "What changes in the answer",

	"compare.sent": "The upstream sent", "compare.got": "The visible answer", "compare.first": "The first slice; the rest is under Bytes.",
	"compare.beside": "Beside the text", "compare.note": "A route's display may also give clients the thoughts, in a field of their own.",

	"request": "Prompt", "request.asked": "As the client asked, in its own API", "request.none": "The record has no prompt.", "request.removed": "Earlier reasoning was taken out of the prompt before it was sent:", "request.kept": "The prompt was sent as the client sent it, as far as the record says.",
	"request.saved": "less to send", "request.tokens": "about %s tokens", "request.before": "The record has the prompt as it was sent to the upstream, not what was taken out.", "request.more": "further message|further messages", "request.cut": "the rest is in the raw event",

	"curl.none": "There is no command: the record does not have the whole request, or where it was sent.", "curl.note": "The record does not have the key of the request.", "copy": "Copy", "copied": "Copied.",

	"bytes.slice": "Slice", "bytes.of": "of", "bytes.prev": "Previous slice", "bytes.next": "Next slice", "bytes.range": "bytes %s to %s of %s", "bytes.empty": "The reply is empty.",

	"runs.caption": "Runs, the newest first", "runs.below": "with called agents", "runs.page": "run|runs", "runs.end": "the oldest run", "runs.stopped": "The page ended early: too many events came between.",
	"runs.none": "No run matches these filters.", "runs.empty": "No runs yet.", "runs.empty.do": "Record an agent that works alone. This one needs no model:", "runs.empty.command": "sotto run --record DIR",
	"run.agent": "Agent", "run.status": "Status", "run.unknown": "status unknown", "run.goal": "Goal", "run.cycles": "Cycles", "run.below": "called", "run.resumed": "resumed", "run.bound": "bound:", "run.parent": "Called by",
	"run.empty": "No events in these cycles.", "run.all": "All cycles", "run.before": "Earlier", "run.after": "Later", "run.window": "Cycles", "run.cycle": "Cycle", "run.cycles.n": "cycle|cycles", "run.invocations": "invocation|invocations", "run.calls": "call of a tool|calls of tools",
	"run.grouped": "each row sums up its cycles: open one to see the invocations", "run.partial": "there was more to read than a page reads: zoom in", "run.from": "From cycle", "run.to": "To cycle", "run.zoom": "Zoom", "run.caption": "The run in time",
	"run.time": "Time from the beginning of the cycle", "run.visible": "visible", "run.failed": "failed", "run.pause": "the run stopped and was resumed after", "run.of": "run", "run.noend": "has no end", "run.steps": "Invocations", "run.attempt": "attempt",
	"run.earlier": "Earlier steps", "run.newest": "The newest steps", "run.why": "Why it failed", "run.along": "Failed on the way", "run.failures": "failure; this is the last|failures; these are the last", "run.tokens": "token|tokens", "run.open": "Open the exchange",
	"session.names": "This identifier was sent as", "session.none": "Nothing in the record has this identifier.", "session.stopped": "The search stopped: too many events came between.", "session.ask": "A session is what shares an identifier: one that a client sends, or the context of an A2A server.", "session.open": "Open",
	"session.older": "Earlier turns", "session.more": "It called further agents: open its run.", "session.of": "Session",
	"memory.empty": "No memory in this record.", "memory.empty.do": "Record a stream of problems that uses a memory, or name the file of a memory when you start the console:", "memory.empty.command": "sotto console DIR --memory FILE",
	"memory.cut": "the record is too long to be read whole", "memory.choose": "Memories", "memory.file": "File", "memory.alltasks": "All tasks", "memory.earned": "What the templates earned", "memory.onetemplate": "Template", "memory.onetrace": "Trace", "memory.solvedby": "Solved", "memory.failedby": "Failed", "memory.offered": "Offered", "memory.seen": "Seen", "memory.tokens": "Tokens a problem",
	"memory.graph": "Templates and their problems", "memory.graph.note": "those that earned most", "memory.lines": "A line is a problem that the template was used for or found in. A dashed one was not solved.", "memory.moreleft": "further template,|further templates,", "memory.morelinks": "further line is not drawn.|further lines are not drawn.",
	"memory.curve": "Memory", "memory.curve.run": "templates and traces after each problem", "memory.curve.file": "templates and traces, in the order in which they were found", "memory.hits": "Solved by a known template", "memory.hits.note": "share of the problems so far", "memory.numbers": "The numbers", "memory.nodes": "Nodes", "memory.problems": "Problems", "memory.rest": "Traces", "memory.morenodes": "further node is in the memory.|further nodes are in the memory.",
	"run.legend.thought": "thought", "run.legend.visible": "visible", "run.legend.call": "call of a tool", "run.legend.cut": "Times begin with the cycle. A bar is as long as the invocation took; it is cut by bytes, not by time.",
	"eval.empty": "No scored file.", "eval.empty.do": "Score replies, and start the console with the result:", "eval.empty.score": "sotto score --task math --jsonl -o scored.jsonl replies.jsonl", "eval.empty.command": "sotto console --scores scored.jsonl --replies replies.jsonl",
	"eval.file": "File", "eval.with": "Compare with", "eval.nothing": "nothing", "eval.right": "right", "eval.wrong": "wrong", "eval.interval": "95 %% interval %.1f … %.1f %%", "eval.against": "Against", "eval.gained": "gained", "eval.lost": "lost",
	"eval.this": "This file", "eval.difference": "%+.1f points (95 %% interval %+.1f … %+.1f; p = %.3g by McNemar's exact test, %d pairs)", "eval.paired": "right here minus right in", "eval.both": "right in both", "eval.neither": "wrong in both", "eval.alone": "only here", "eval.caption": "Scored lines", "eval.verdict": "Verdict", "eval.id": "Id", "eval.found": "Found", "eval.expected": "Expected", "eval.method": "Method", "eval.reason": "Reason",
	"eval.none": "No line matches these filters.", "eval.lines": "line|lines", "eval.unreadable": "line cannot be read|lines cannot be read", "eval.cut": "the lines after the first 4 million are not shown", "eval.first": "First", "eval.next": "Next", "eval.prev": "Previous", "eval.facets": "Facets",
	"eval.by": "equal by", "eval.unknown": "not in the file", "eval.question": "Question", "eval.reply": "Reply", "eval.before": "before this", "eval.after": "after this", "eval.noreply": "The scored file does not have the reply. Name the file that does:", "eval.noreply.do": "--replies FILE",
	"eval.attempts": "Attempts", "eval.finds": "Finds", "eval.noattempts": "The file lists no attempts.", "eval.rules": "Rules", "eval.line": "Line",

	"unreached.name": "There is no host with the name %s.", "unreached.refused": "Nothing listens at this address.", "unreached.late": "There was no answer in two seconds.", "wrong.one": "One thing is wrong", "wrong.some": "things are wrong", "wrong.none": "Nothing wrong was found", "wrong.checked": "Looked at:", "wrong.upstream": "The upstream %s cannot be reached.", "wrong.record": "The record cannot be read.", "wrong.room": "The disk of the record has only %s left.",
	"wrong.dropped": "%s events were not recorded, because the queue was full or the disk failed.", "wrong.unread": "%s responses that look like a model's reply passed unread: nobody took thoughts out of them.", "wrong.passed": "%s replies brought a thought to the client in the text, because the display is keep.", "wrong.lists": "An upstream did not say %s times which models it has.", "wrong.since": ", since %s; before that, %s.",
	"checked.upstreams": "whether the upstreams can be reached", "checked.counters": "what the gateway lost or left unread", "checked.record": "the files of the record", "checked.room": "the room on its disk", "checked.changes": "changes for the worse in the last seven days",
	"health.upstream": "Upstream", "health.reached": "reachable", "health.some": "%d of %d reachable", "health.unreached": "cannot be reached", "health.size": "Size", "health.segments": "Segments", "health.pruned": "pruned", "health.free": "Disk room", "health.head": "Newest event",
	"health.verified": "Verification", "health.running": "Under way, began", "health.good": "Verified up to event", "health.bad": "The record is damaged or was changed.", "health.events": "event|events", "health.unverified": "Not verified since the console began.", "health.verify": "Verify now",
	"health.verify.away": "The record is in object storage. The command sotto record verify copies all of it and verifies the copy.", "health.verify.note": "It reads the whole record, and checks the chain. To check signatures too: sotto record verify", "health.learned": "Learned starts", "health.switch": "Switch", "health.native": "Reasoning in", "health.seen": "Last seen", "health.forget": "Forget", "health.undecided": "undecided", "health.type": "Type the model's name",
	"health.text": "the text", "health.nothing": "Nothing is learned yet.", "health.counters": "Counters since the start", "health.metric": "Metric", "health.labels": "Of", "health.value": "Value", "health.settings": "Settings in force", "health.gateway": "Gateway", "health.nogateway": "This console is not beside a gateway. To see one:", "health.nogateway.command": "sotto serve --record DIR --console",

	"screen.explore": "Explore", "explore.measures": "What is looked at", "explore.plot": "The course over time. Arrow keys pick a part, with Shift several, Enter shows it", "explore.pick": "Drag over the plot, or use the arrow keys, to look at a part of the time.", "explore.picked": "Enter shows this time.",
	"explore.none": "Nothing to count.", "explore.none.do": "No event of this record is of this kind.", "explore.table": "Values and since when they hold", "explore.now": "Now (95 % interval)", "explore.since": "Since", "explore.before": "Before", "explore.all": "In all of this time", "explore.steady": "no change", "explore.open": "Open",
	"explore.most": "The most of", "explore.counted": "event counted|events counted", "explore.left": "only events after %s: the older %s have no sidecars, so that reading them would take too long. Make these with: sotto record index DIR", "explore.left.several": "without %s of older events: they have no sidecars, so that reading them would take too long. Make these at each gateway with: sotto record index DIR", "explore.unindexed": "%s segments without a sidecar were read line by line, which is slow. Make sidecars with: sotto record index DIR",
	"explore.merged": "further names are counted together", "explore.others": "further names", "explore.unnamed": "not known", "explore.how": "How this is computed",
	"explore.how.text": "A share has Wilson's 95 % interval. Of a quantity, the median is shown, to within 1 %, between the ranks that Wilson's interval of one half gives. The time is divided where two values explain the events better than one: at the place with the largest likelihood ratio of the binomial distribution (of a quantity: of being above its median), if chance gives such a ratio, at any of the places, in less than 1 % of cases; and so on in each part. Where neighbouring parts of the time differ more than chance explains, the ratio is divided by how much more. Since is the beginning of the last part; it is as exact as a part of the plot. Pick a shorter time to see it more exactly.",
	"measure.leaks":    "Thoughts in the text", "measure.reached": "… at the client", "measure.failed": "Failures", "measure.tools": "Failing tools", "measure.took": "Duration", "measure.first": "First text", "measure.thought": "Thought",
	"by.model": "Model", "by.tool": "Tool", "by.caller": "Caller", "by.upstream": "Upstream", "by.api": "API",
	"most.thought": "Longest thoughts", "most.took": "Slowest", "most.output": "Most tokens", "most.calls": "Most calls", "most.leaked": "Longest thoughts in the text",
	"says.leaks": "a thought stands in the text of %s of the replies", "says.reached": "%s of the replies brought a thought to the client in the text", "says.failed": "%s of the exchanges failed or were refused", "says.tools": "%s of the uses of tools failed", "says.took": "half of the replies took longer than %s", "says.first": "half of the replies show text only after %s", "says.thought": "half of the thoughts are longer than %s",
	"says.leaks.none": "No thought stands in the text of any of %s replies", "says.reached.none": "None of %s replies brought a thought to the client in the text", "says.failed.none": "None of %s exchanges failed", "says.tools.none": "None of %s uses of tools failed",
	"says.since": "since", "says.before": "before that,", "says.steady": "without a change in this time", "explore.band": "The shaded area is the 95 % interval of",
	"order.by": "Sort by", "order.most": "the most first", "order.least": "the least first", "order.time": "Time", "order.sum": "Totals", "order.sorted": "exchange that has it|exchanges that have it", "order.failed": "not answered", "order.leaked": "with a thought in the text", "order.cached": "cached",
	"order.thought": "Thought", "order.answer": "Answer", "order.leaked.fact": "Thought in the text", "order.saved": "Saved of the prompt", "order.size": "Size of the event", "order.took": "Took", "order.first_thought": "First thought", "order.first_answer": "First text", "order.input": "Tokens in", "order.output": "Tokens out", "order.reasoning": "Tokens of thought", "order.cached.fact": "Cached tokens", "order.calls": "Calls", "order.retries": "Sent again", "order.status": "Status",

	"search.text": "Search the record", "search.in": "Where", "search.anywhere": "everywhere", "search.regexp": "regular expression", "search.go": "Search", "search.of": "Searched %s of %s", "search.ended": "the whole record", "search.more": "more in this event", "search.failed": "The search failed:",
	"search.bar": "How far the search is", "search.stop": "Stop", "search.sealed": "Some events are encrypted, and were not searched.", "search.kinds": "Kinds of hits", "search.none": "No hit so far.", "search.empty": "What are you looking for?", "search.empty.do": "A search reads the texts of all events, the newest first: thoughts, answers, prompts, tools.",
	"kind.thought": "Thoughts", "kind.answer": "Answers", "kind.prompt": "Prompts", "kind.tool": "Tools", "kind.other": "Other",

	"play.note": "Paste a reply, and drag the cut below it: each byte appears when its channel is certain.", "play.text": "Reply", "play.reading": "Reading", "play.start": "Start", "play.end": "How it ended", "play.own": "the dialect's own",
	"play.link": "Copy link", "play.linked": "Copied", "play.unlinked": "The address bar has the link", "play.arrival": "Arrived", "play.of": "of", "play.bytes": "bytes", "play.whole": "The reply has ended", "play.wait": "wait", "play.json": "The reading as JSON",
	"play.holds": "Bytes that waited", "play.from": "While", "play.byte": "From byte", "play.why": "Why", "play.none": "No byte waited: each was certain when it came.", "play.more": "further waits", "play.examples": "Examples", "play.prev": "Previous wait", "play.next": "Next wait", "play.empty": "No visible answer yet.", "play.longest": "longest",
	"play.alone": "This console shows no record.",

	"example.plain": "a thought", "example.doubt": "a close in doubt", "example.orphan": "a close without an opener", "example.output": "an output block", "example.code": "a marker in code", "example.prose": "tags in prose",

	"hold.marker": "may begin a marker", "hold.quote": "a marker: the next byte may show that it is quoted", "hold.start": "may be a thought: a close without an opener may come",
	"hold.output": "may be set aside: an output block may come", "hold.pad": "may be the answer: waits for text after the scratch pad", "hold.line": "may be a close: waits for the line's end",
	"hold.family": "may be a close: waits for the next marker", "hold.opener": "may open a thought: waits for its close", "hold.code": "may be in code: waits for the code's end",
	"hold.stray": "may be a stray close: waits for what follows", "hold.tool": "may be a tool call: waits for what follows", "hold.blank": "a blank line would end the narration",

	"run.forms": "Forms of this run", "run.timeline": "Timeline", "run.memory": "Memory", "run.reflections": "Reflections", "run.compare": "Compare", "run.again": "Extend and replay",
	"memory.after": "What the run remembered after cycle", "memory.before": "Cycle before", "memory.next": "Next cycle", "memory.cycle": "The cycle in time", "memory.partial": "The run is too long to be read whole. Keys that no cycle has written since cycle %s are missing.",
	"memory.none": "This run kept nothing until then.", "memory.keys": "Keys", "memory.in": "in cycle", "memory.now": "written", "memory.deleted": "deleted", "memory.gone": "deleted in this cycle", "memory.learned": "What the problem taught",
	"memory.solved": "solved", "memory.unsolved": "not solved", "memory.templates": "template|templates", "memory.traces": "trace|traces", "memory.used": "used:", "memory.template": "template:", "memory.newtemplate": "new template:", "memory.trace": "trace:", "memory.newtrace": "new trace:",
	"memory.reflections": "Reflections", "memory.newest": "the newest first", "memory.silent": "no text", "memory.like": "the run compared it with cycle",
	"matrix.none": "No reflections yet.", "matrix.caption": "Similarity of the reflections", "matrix.method": "Similarity of each reflection to the earlier ones: the cosine of their groups of four letters, 0 to 1, without function words.",
	"matrix.threshold": "From %s on, marked by a frame, two are taken to say the same.", "matrix.more": "These are the last %d; %s earlier ones are not compared.",
	"part.question": "They were asked different questions", "part.model": "They ask different models", "part.system": "The instructions to the model differ", "part.parameters": "The parameters differ", "part.tools": "The tools differ", "part.call": "They do different things here", "part.arguments": "They call %s with different arguments",
	"part.result": "%s gave different results", "part.error": "They failed differently", "part.thought": "They differ in what was thought", "part.answer": "They answer differently", "part.end": "They end differently", "part.length": "One goes on where the other has ended", "part.note": "They differ in a remark",
	"part.none": "Step by step, the two are the same.", "part.ended": "nothing more", "part.open": "Open here", "part.failed": "What failed", "part.unfailed": "Nothing failed.",
	"compare.and": "and", "compare.exchange": "Compare with", "compare.exchange.go": "Compare", "compare.facts.differ": "Facts that differ", "compare.facts.same": "No fact differs.", "compare.fact": "Fact",
	"compare.with": "another run", "compare.missing": "This run has no such cycle.", "compare.facts": "The runs", "compare.saved": "Saved of prompts", "compare.settings": "Settings that differ", "compare.setting": "Setting", "compare.unknown": "The record does not have the settings of both runs.",
	"compare.same": "The settings are the same.", "compare.cycles": "Reflections, cycle by cycle", "compare.differ": "they differ from cycle", "compare.partial": "The runs are too long to be read whole: their first cycles are missing.", "compare.equal": "equal", "compare.similar": "similarity",
	"again.extend": "Extend the run", "again.extend.note": "FILE is the experiment of the run. Raise cycles in it, and change nothing else. Leave --config out if the run is the example that comes with sotto.", "again.resume": "Resume the run", "again.resume.note": "FILE is the experiment of the run, unchanged. Replies and results that the record has are not asked for again.",
	"again.replay": "Replay the run", "again.replay.note": "The command repeats the run with its recorded replies and results, asks no model, calls no tool, and reports the first event that differs.", "again.called": "Another run called this one as a tool. Extend or replay that run.", "again.other": "Only runs of sotto run can be extended and replayed.",
	"again.difference": "Replay difference", "again.difference.why": "The record has the settings of a run and what came of them, but not the program of its tools nor the files that its experiment names. So the console does not replay it: the command above does, where these are.",

	"login.title": "Log in", "login.token": "Token", "login.go": "Log in", "login.note": "The token needs the scopes console and record. A login lasts 12 hours at most, and 2 hours unused.",
	"login.url":   "The address that you opened had a token in it. It was not used. It may be in logs and in the history of this browser: replace this token.",
	"login.ended": "Your login has ended.",
	"login.wrong": "This is not a token of this console.", "login.scope": "This token does not have the scopes console and record.",

	"error.failed": "The page could not be made.", "error.failed.do": "The log of the console says more. If it happens again, report it with sotto version.",
	"error.missing": "Not found", "error.missing.do": "It may have been pruned. The list has what the record holds now.",
	"error.pruned": "Not in the record any more", "error.pruned.do": "It was pruned, or its line cannot be read. The list has what the record holds now.",
	"error.elsewhere": "Not in this record", "error.elsewhere.do": "Each gateway writes a record of its own. If several answer your requests, look at the console of the one that answered this one.",
	"error.request": "This request cannot be answered.", "error.request.do": "Go back and change it, or begin at the list.",
	"error.sealed": "This record is encrypted.", "error.sealed.do": "Start the console with the identity that opens it: sotto console DIR --identity FILE",
	"error.busy": "Too many searches run at once.", "error.busy.do": "Wait until one has ended, or stop one in another window.",
	"error.audit": "This view cannot be recorded, so it is not shown.", "error.audit.do": "Check that the record of the views can be written: that its disk has room, and that it was not moved.",
	"error.record": "The record cannot be read.", "error.record.do": "Check that the folder is there and that you may read it.",

	"export.by": "Exported from a record by Sotto", "export.event": "event",

	"chat.list": "Conversations", "chat.new": "New chat", "chat.search": "Search conversations", "chat.untitled": "without a title", "chat.nothing": "Nothing found.", "chat.none": "No conversations yet.",
	"chat.searched": "Searched", "chat.earlier": "Earlier messages", "chat.later": "Later messages", "chat.end": "The end",
	"chat.empty": "What would you like to ask?", "chat.empty.do": "Choose a model or an agent, and write below. What it thinks is folded above its answer.",
	"chat.scripts": "You can read conversations without scripts. To write messages, allow scripts for this page.", "chat.scope": "Your token reads conversations. To write messages, it needs the scope models.",
	"chat.tools": "This conversation", "chat.markdown": "Markdown", "chat.manage": "Rename or delete", "chat.title": "Title", "chat.rename": "Rename", "chat.delete": "Delete", "chat.delete.how": "Type delete to delete it", "chat.delete.word": "delete",
	"chat.you": "You", "chat.assistant": "Assistant", "chat.edit": "Edit", "chat.edit.go": "Send as a new branch", "chat.cancel": "Cancel", "chat.remove": "Remove", "chat.cut": "The rest is in the exported file.",
	"chat.branches": "Branches", "chat.branch.before": "Previous branch", "chat.branch.after": "Next branch",
	"chat.thought.record": "Read it in the record", "chat.thought.apart": "This thought is in the record of another gateway, which its own console shows.", "chat.thought.none": "Thoughts are kept in the record only.", "chat.stopped": "stopped", "chat.tokens": "token|tokens", "chat.rate": "tokens/s", "chat.first.thought": "first thought", "chat.first.answer": "first answer",
	"chat.silent": "The model ended the reply without an answer.", "chat.silent.stopped": "It was stopped before the answer began.", "chat.silent.thinking": "The limit of tokens was reached while it thought, so there is no answer.", "chat.silent.length": "The limit of tokens was reached before the answer began.",
	"chat.silent.filter": "A filter of the model server withheld the answer.", "chat.silent.thought": "It thought, and then ended without an answer.", "chat.answer": "Answer it", "chat.under": "A reply is being written in another window, or was just stopped. It appears here when it has ended.", "chat.apart": "in the record of another gateway", "chat.unkept": "The message may not have arrived. Reload the page to see what was kept.",
	"ask.title": "Consent to a call", "ask.asks": "The agent asks for your consent to call", "ask.tool": "Tool", "ask.through": "Asked by", "ask.arguments": "Arguments", "ask.none": "no arguments", "ask.for": "For", "ask.until": "Open until", "ask.allow": "Allow", "ask.refuse": "Refuse", "ask.dismiss": "Dismiss",
	"ask.open": "The agent waits. The tool is called only if you allow it here: a message in the chat does not answer.", "ask.scope": "Your token may not answer: that needs the scopes models and consent. Log in with a token that lists both.", "ask.late": "Nobody answered in time, and the tool was not called. To be asked again, use Retry, or write a message.",
	"ask.allowed": "Allowed by", "ask.refused": "Refused by", "ask.work": "Answered. The agent is at work.", "ask.lost": "Answered, and then the gateway ended while the agent was at work. Whether the tool was called is not known; it is not called again by itself.", "ask.gone": "This question is no longer kept, and cannot be answered.", "ask.scripts": "To answer, allow scripts for this page.",
	"chat.retry": "Retry", "chat.raw": "Exchange", "chat.run": "Run", "chat.message": "Message", "chat.agents": "Agents", "chat.models": "Models", "chat.think": "Thinking", "chat.think.usual": "Thinking: default", "chat.think.yes": "Thinking: on", "chat.think.no": "Thinking: off",
	"chat.image": "image:", "chat.copy": "Copy", "chat.copied": "Copied", "chat.attach": "Attach", "chat.stop": "Stop", "chat.send": "Send", "chat.fault": "There is no list of models:", "chat.file.big": "is not a text file of at most 256 KiB",

	"task": "Task", "task.run": "Run", "task.calls": "call of a model|calls of models", "task.tokens": "tokens", "task.late": "Nobody answered in time. An answer makes the agent ask again.", "task.own": "Only the caller can answer, for whom the agent works: log in with its token.", "task.scope": "Your token may not answer: that needs the scope consent.",
	"task.extend": "Add to the limits", "task.limit": "Limit of an answer", "task.now": "Now", "task.added": "Added", "task.add": "Add", "task.unlimited": "unlimited", "task.nothing": "nothing to add to", "task.fixed": "The limits cannot be raised:",
	"task.limit.replies": "Replies of the model", "task.limit.calls": "Calls of tools", "task.limit.tokens": "Tokens", "task.limit.time": "Time", "task.limit.cost": "Cost",
	"task.want.replies": "a number of replies", "task.want.calls": "a number of calls", "task.want.tokens": "a number of tokens", "task.want.time": "a time such as 10m or 1h30m", "task.want.cost": "a sum such as 0.5",
	"task.cancel": "Cancel the task", "task.cancel.how": "Type cancel to cancel it", "task.cancel.word": "cancel", "task.operator": "To cancel the task, or to add to its limits, log in with a token that lists the scope operator.",
	"task.erase": "Erase", "task.erase.note": "Tasks, messages, answers and pushes are removed from the store, and tasks that are worked on are canceled. The record and backups keep what they have.", "task.erase.what": "What", "task.erase.conversation": "this conversation", "task.erase.caller": "all tasks of the caller", "task.erase.how": "Type erase to erase it", "task.erase.word": "erase",
	"run.fixed": "This run is not a task of an agent of this gateway, so it cannot be canceled or extended here. Stop it where it was started, and run it again with other limits.",

	"error.talk": "There is no such conversation.", "error.talk.do": "It may have been deleted, or belong to another token. Begin a new one.",
	"error.objects": "The object storage that has this record cannot be read.", "error.objects.do": "Nothing is lost, and no page shows a part as if it were all. Try again when the storage answers.",
	"error.store": "The store that has the conversations cannot be reached.", "error.store.do": "Try again later. The log of the gateway says more.",
	"error.logins": "The store that has the logins cannot be reached.", "error.logins.do": "Try again later. Until then, a login and a logout do not count. The log of the gateway says more.",
	"error.nooperator": "You may look, but not change this.", "error.nooperator.do": "Log in with a token that also has the scope operator.",
	"views": "Who looked at what", "views.note": "Each page that showed a thought, and each change of the gateway, the newest first.", "views.apart": "The views of this console are recorded in another folder. These are the views that this record has.", "views.who": "Token", "views.action": "Did", "views.what": "What", "views.from": "From", "views.nobody": "no token", "views.none": "Nobody has looked at a thought in this record, or views are not recorded.",
	"error.noconsent": "You may not agree to calls of agents.", "error.noconsent.do": "Log in with a token that also has the scope consent.",
	"error.notalk": "You may read, but not write.", "error.notalk.do": "Log in with a token that also has the scope models.",

	"gateways.of": "The record of", "gateways.here": "This gateway: what it learned, its settings, and what can be changed", "gateways.state": "State", "gateways.fine": "nothing wrong", "gateways.unheard": "not known", "gateways.page": "Gateways",
	"wrong.silent": "%s: nothing was heard of it for a while", "wrong.away": "%s did not answer", "wrong.refused": "%s did not admit you, so that its health is not known", "wrong.busy": "%s has too much to do, and said nothing of its health", "wrong.failed": "%s said something of its health that cannot be read", "gateways.all": "All %d gateways", "col.gateway": "Gateway",
	"gateways.silent": "%s is not on this page: nothing was heard of it for a while", "gateways.away": "%s is not on this page: it did not answer", "gateways.refused": "%s is not on this page: it did not admit you", "gateways.busy": "%s is not on this page: it has too much to do",
	"gateways.failed": "%s is not on this page: its answer is of no use", "gateways.sealed": "%s is not on this page: its record is encrypted", "gateways.lost": "There may be other gateways: the store that has their addresses cannot be reached",
	"error.nogateway": "This gateway is not known", "error.nogateway.do": "The address names the record of a gateway that has told nothing of itself in the last 24 hours.",
	"error.away": "This gateway did not answer", "error.away.do": "Its record is on its own machine. Try again when it is up, or open its own console.",
	"error.reading": "This page is for reading", "error.reading.do": "What changes a gateway is done at its own console.",

	"time.future": "just now", "time.seconds": "%d s ago", "time.minutes": "%d min ago", "time.hours": "%d h ago", "time.days": "%d d ago",
}

// Word returns a text of the page. Of a text that has a form for one and a form for several
// things, it is the latter.
func Word(name string) string {
	_, several := forms(name)
	return several
}

// forms returns the forms of a text for one thing and for several.
func forms(name string) (one, several string) {
	text, ok := words[name]
	if !ok {
		panic("console: there is no text " + name)
	}
	one, several, ok = strings.Cut(text, "|")
	if !ok {
		several = one
	}
	return one, several
}

// counted is a number of things, with the form of the word that belongs to it.
func counted(n any, name string) string {
	number := number(n)
	one, several := forms(name)
	if number == "1" {
		return number + " " + one
	}
	return number + " " + several
}
