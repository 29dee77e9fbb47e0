// Package shown leaves of a reply what its client may see, where reasoning is
// hidden.
//
// Servers put reasoning into members of many names, and every year has new ones. So
// an API does not say what is hidden but what is shown: a tree of [Value], which the
// codec of the API declares as data. What the tree does not name is left out:
// members, kinds of content parts, blocks and items, events, and all of a stream
// that is not JSON.
//
// [Only] puts the tree behind a codec's reply. The codec still does all that needs
// understanding: it reads texts, and leaves out what would part an index from its
// block. Nothing that it lets pass by mistake passes here.
package shown
