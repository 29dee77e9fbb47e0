package record

// AtPoint calls f at every place where a crash must be survived. Call it before
// anything is opened.
func AtPoint(f func(name string)) { atPoint = f }

// NamesCredential reports whether a name is that of a credential.
var NamesCredential = namesCredential
