// Package history decides what of a model's earlier reasoning goes back to its
// provider with the next request.
//
// Families of models differ. Some want nothing of it and fill their context with
// what they get; some answer 400 if a message that called a tool comes back
// without its reasoning; some sign it and take it only byte for byte. What each
// needs is a [Rule], a row of one table ([Rules]) with its source.
//
//	plan := history.PlanFor(q, history.Auto, history.Knowledge{
//		Grammar: g,
//		Native:  "reasoning_content",
//		Recall:  store.For(caller, q),
//	}, codec.Name())
//	body, err = codec.Edit(nil, body, plan.Changes)
//
// # What holds under every policy
//
//   - Signed or encrypted parts ([wire.Thought].Sealed) stay, byte for byte.
//   - Only messages of the assistant change. Calls of tools, their results and
//     the order of messages never do.
//   - The turn under way, which is all behind the user's last message (results of
//     tools are no message of the user), loses no reasoning. It may change its
//     place: into the member that the upstream names it by, or back into the
//     content that it came from. There is one exception: a part of Sotto's
//     own making that can only be an error to the provider goes (a block without
//     a signature, to a provider that signs; an item with no text to go into).
//   - A message that would be left with neither text nor calls keeps its
//     reasoning, since providers refuse empty messages. So does a text that would
//     become empty, unless it is the only one of a message with calls and the API
//     takes an empty one.
//   - A text changes only where reasoning is found in it, and only to one that
//     reads the same again. Tags in code spans, fences and quotes are text.
//   - A plan made from a request that a plan has changed holds no changes.
//
// # What Sotto made itself
//
// A client sees reasoning where Sotto put it, and sends it back from there: a
// member of another name than the upstream's, a block without a signature, tags.
// What is Sotto's own is recognised and goes back to where the upstream had it:
// renamed, or folded into the content. Folded content is exactly what the
// upstream sent where that is remembered; else the reasoning stands before the
// text in the first markers of reasoning that the dialect has. Where there is no
// text to fold into, and where no dialect's markers would read back as they
// should (grammars of headers), a member stays as it is.
//
// # What is remembered
//
// A [Store] keeps the reasoning of replies in memory, so that what a client
// dropped can be put back. It is keyed by the caller's credential and the
// conversation up to the reply, under a random key of its own. Of content it
// keeps the reasoning, and the reply around it where it stood in the text. Nobody
// gets what another caller's reply held, also not for the same conversation.
package history
