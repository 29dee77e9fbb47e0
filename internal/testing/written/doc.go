// Package written tests that this program reads what earlier programs wrote: tokens,
// settings, data folders, records, sealed values of replicas, memories and studies. The
// samples are in testdata/written, in a folder for each commit that wrote them. They are
// never changed. The package has only tests.
package written
