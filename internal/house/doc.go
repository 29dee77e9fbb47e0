// Package house holds the rules of the tree, each a test: what the public API is
// (api/*.txt), what docs/architecture.md says of the packages, and which words the
// prose does without.
package house
