package metagraph

// atPoint, which only tests set, is called at every place where a crash must be
// survived: before, in and after a transaction.
var atPoint func(name string)

func point(name string) {
	if atPoint != nil {
		atPoint(name)
	}
}
