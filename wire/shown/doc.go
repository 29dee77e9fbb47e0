// Package shown says which parts of a provider's JSON may reach a client without a codec
// that understands them.
//
// Servers put reasoning into members of many names, and every year has new ones. So an API
// does not declare what is hidden but what is shown: a tree of [Value], which the codec of
// the API declares as data. What the tree does not name is left out, at every depth. What it
// names passes for a reason that its value states: it is a text that is read, or a word, a
// number or a sealed value in which no text can stand.
package shown
