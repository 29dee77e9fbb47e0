# Runs the description for Homebrew with the words of its language that goreleaser uses,
# and compares what it names with the files of a release: ruby .ci/cask.rb DIST
require "digest"

DIST = ARGV.fetch(0)

class Cask
  attr_reader :archives, :files

  def initialize
    @archives = {}
    @files = []
  end

  def version(text = nil) = text ? @version = text : @version
  def on_macos(&block) = platform("darwin", &block)
  def on_linux(&block) = platform("linux", &block)
  def on_intel(&block) = platform("amd64", &block)
  def on_arm(&block) = platform("arm64", &block)
  def url(text) = @archives[@platform] = [File.basename(text)]
  def sha256(text) = @archives[@platform] << text
  def name(*) = nil
  def desc(*) = nil
  def homepage(*) = nil
  def livecheck = nil
  def caveats(*) = nil

  %i[binary manpage bash_completion zsh_completion fish_completion].each do |word|
    define_method(word) { |path| @files << path }
  end

  private

  def platform(name)
    before = @platform
    @platform = [before, name].compact.join("_")
    yield
    @platform = before
  end
end

def cask(_name, &block)
  $cask = Cask.new
  $cask.instance_eval(&block)
end

load File.join(DIST, "homebrew", "Casks", "sotto.rb")

want = %w[darwin_amd64 darwin_arm64 linux_amd64 linux_arm64]
abort "the platforms are #{$cask.archives.keys}" unless $cask.archives.keys.sort == want
$cask.archives.each do |platform, (file, sum)|
  path = File.join(DIST, file)
  abort "#{platform} is #{file}" unless file.include?(platform)
  abort "#{file} has another checksum" unless Digest::SHA256.file(path).hexdigest == sum
  inside = IO.popen(["tar", "-tzf", path], &:readlines).map(&:chomp)
  missing = $cask.files - inside
  abort "#{file} has no #{missing.join(", ")}" unless missing.empty?
  pages = inside.grep(/\Aman\//)
  abort "the description has not all pages" unless (pages - $cask.files).empty? && pages.size > 10
end
puts "#{$cask.archives.size} archives, #{$cask.files.size} files of each"
