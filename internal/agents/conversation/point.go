package conversation

// AtPoint is set by tests only, and called at every place where a crash must be
// survived: around each step of keeping a turn, and by those who keep turns, around
// their own.
var AtPoint func(name string)

// Point calls AtPoint.
func Point(name string) {
	if AtPoint != nil {
		AtPoint(name)
	}
}
