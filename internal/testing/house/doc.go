// Package house holds the rules of the tree, each as a test: what the public API is
// (api/*.txt), what docs/explanation/architecture.md says about the packages, and which words
// the prose avoids.
package house
