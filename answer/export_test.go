package answer

var Unstruck = unstruck
