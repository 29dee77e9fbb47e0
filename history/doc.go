// Package history decides which of a model's earlier reasoning goes back to its
// provider with the next request.
//
// Families of models differ. Some need no earlier reasoning, and it only fills
// their context. Some answer 400 if a message that called a tool comes back
// without its reasoning. Some sign it and accept it only byte for byte. What each
// needs is a [Rule], a row of one table ([Rules]) with its source.
//
//	request, err := openai.Chat.Request(body) // of package wire/openai; the other APIs have their own
//	plan := history.PlanFor(request, history.Auto, history.Knowledge{}, openai.Chat)
//	body, err = openai.Chat.Edit(nil, body, plan.Changes)
//
// A program that remembers what its client forgets has a [Store], and gives Recall to
// [Knowledge]. One that talks to several upstreams, or has a client with ids of its
// own for calls, takes the steps of [Foreign], [Original] and [CallIDs] before.
//
// # What holds under every policy
//
//   - Signed or encrypted parts ([wire.Thought].Sealed) stay, byte for byte.
//   - Only messages of the assistant change. Tool calls, their results and the
//     order of messages never do.
//   - The current turn is everything after the user's last message (tool results
//     are not messages of the user). It loses no reasoning. Its reasoning may
//     change its place: into the member that the upstream uses for it, or back
//     into the content that it came from. There is one exception: a part that
//     Sotto itself made is removed if the provider would refuse it (a block
//     without a signature, to a provider that signs; an item with no text to go
//     into).
//   - A message that would be left with neither text nor calls keeps its
//     reasoning, since providers refuse empty messages. So does a text that would
//     become empty, unless it is the only text of a message with calls and the API
//     accepts an empty one.
//   - A text changes only if reasoning is found in it, and only to a text that
//     reads the same again. Tags in code spans, fences and quotes are text.
//   - A plan made from a request that a plan has already changed holds no changes.
//
// # What Sotto made itself
//
// A client sees reasoning where Sotto put it, and sends it back from there: a
// member with another name than the upstream's, a block without a signature, tags.
// What Sotto itself made is recognised and goes back to where the upstream had it:
// it is renamed, or folded into the content. Folded content is exactly what the
// upstream sent, if that is remembered. Otherwise the reasoning is put before the
// text, in the first reasoning markers that the dialect has. A message that calls
// tools and has no text gets one. A member stays as it is if there is no text and no
// call, or if no markers of the dialect would read back correctly (header grammars).
// Reasoning that was restored from memory is not folded in again.
//
// # Ids of calls
//
// Some clients make ids of their own for calls. [CallIDs] returns the changes by which a
// provider gets those that it made, in calls and in results. They are made before the plan.
//
// # What is remembered
//
// A [Store] keeps the reasoning of replies in memory, so that what a client dropped
// can be put back. A reply is found by the conversation up to it, or by the ids of
// calls; see [Store]. For content, it keeps the reasoning, and also the reply around
// it if the reasoning stood in the text. Nobody gets what another caller's reply held,
// even for the same conversation.
//
// If a client sends back only a part of a remembered thought, it is replaced by the
// whole. Where the upstream sends blocks or items of reasoning, unsigned, one is put back
// before what the reply said, for the families that need it.
//
// If a provider requires a member and nothing is remembered, the member is sent empty.
package history
