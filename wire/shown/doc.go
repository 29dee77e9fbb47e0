// Package shown removes from a reply what its client must not see, when reasoning
// is hidden.
//
// Servers put reasoning into members of many names, and every year has new ones. So
// an API does not declare what is hidden but what is shown: a tree of [Value],
// which the codec of the API declares as data. What the tree does not name is left
// out: members, kinds of content parts, blocks and items, events, and everything in
// a stream that is not JSON.
//
// The function [Only] applies the tree to the output of a codec's reply. The
// codec still does all that needs understanding: it reads texts, and leaves out
// parts whose absence would separate an index from its block. If the codec lets
// something pass by mistake, it is removed here.
package shown
