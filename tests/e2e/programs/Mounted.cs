// SPDX-License-Identifier: GPL-2.0-or-later
// An application with tapir mounted three times: for loopback, under authorization (header X-Key), below a group's path.
// It listens on a free port of 127.0.0.1 and on a unix socket. Usage: Mounted SOCKET [SOCKET-OF-AN-AGENT]; "listening URL" on stdout.
using System;
using System.Linq;
using System.Security.Claims;
using System.Text.Encodings.Web;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Authentication;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Tapir.AspNetCore;

WebApplicationBuilder builder = WebApplication.CreateBuilder();
builder.WebHost.UseUrls("http://127.0.0.1:0", $"http://unix:{args[0]}");
builder.Logging.ClearProviders();
builder.Logging.AddSimpleConsole(o => o.SingleLine = true).AddConsole(o => o.LogToStandardErrorThreshold = LogLevel.Trace);
builder.Services.AddAuthentication("Key").AddScheme<AuthenticationSchemeOptions, KeyHandler>("Key", null);
builder.Services.AddAuthorization();
WebApplication app = builder.Build();

app.MapTapir(configure: o => o.NodeSocket = args.ElementAtOrDefault(1));
app.MapTapir("/guarded").RequireAuthorization();
app.MapGroup("/deep/group").MapTapir("tapir", o => o.AllowRemote = true);
app.MapGet("/work", () =>
{
    try
    {
        throw new InvalidOperationException("on purpose");
    }
    catch (InvalidOperationException)
    {
        return Enumerable.Range(0, 1000).Select(i => new byte[1000]).Sum(b => b.Length);
    }
});
await app.StartAsync();
Console.WriteLine($"listening {app.Urls.First()} pid {Environment.ProcessId}");
await app.WaitForShutdownAsync();
await app.DisposeAsync();

internal sealed class KeyHandler(IOptionsMonitor<AuthenticationSchemeOptions> options, ILoggerFactory log, UrlEncoder encoder)
    : AuthenticationHandler<AuthenticationSchemeOptions>(options, log, encoder)
{
    protected override Task<AuthenticateResult> HandleAuthenticateAsync()
    {
        if (Request.Headers["X-Key"] != "right")
            return Task.FromResult(AuthenticateResult.NoResult());
        var who = new ClaimsPrincipal(new ClaimsIdentity([new Claim(ClaimTypes.Name, "somebody")], "Key"));
        return Task.FromResult(AuthenticateResult.Success(new AuthenticationTicket(who, "Key")));
    }
}
