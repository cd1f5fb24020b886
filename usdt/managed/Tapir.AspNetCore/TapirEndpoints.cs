// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using System.Net;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Tapir.AspNetCore;

/// <summary>The controller of tapir in the pipeline of an application.</summary>
public static class TapirEndpoints
{
    /// <summary>
    /// Mounts pages and documents about this process below a path. Its agent starts with the first request and ends with the
    /// application. Returns what conventions of an endpoint are added to, such as <c>RequireAuthorization</c>.
    /// </summary>
    public static IEndpointConventionBuilder MapTapir(this IEndpointRouteBuilder endpoints, string path = "/tapir",
                                                      Action<TapirOptions>? configure = null)
    {
        var options = new TapirOptions();
        IServiceProvider services = endpoints.ServiceProvider;
        ILogger log = services.GetRequiredService<ILoggerFactory>().CreateLogger("Tapir");
        var agent = new TapirAgent(log);

        configure?.Invoke(options);
        TapirNode? node = options.NodeSocket == null ? null : new TapirNode(options.NodeSocket);
        services.GetService<IHostApplicationLifetime>()?.ApplicationStopping.Register(() =>
        {
            agent.Dispose();
            node?.Dispose();
        });
        return endpoints.Map($"/{path.Trim('/')}/{{**tapirPath}}", context => AnswerAsync(context, options, agent, node))
            .WithDisplayName("tapir").WithMetadata(new ExcludeFromDescriptionAttribute());
    }

    private static async Task AnswerAsync(HttpContext context, TapirOptions options, TapirAgent agent, TapirNode? node)
    {
        string whole = context.Request.Path.Value ?? "", rest = context.Request.RouteValues["tapirPath"] as string ?? "";
        string? refusal = options.AllowRemote || IsAuthorized(context) ? null : JudgeCaller(context);

        if (refusal != null)
        {
            await TapirExchange.RefuseAsync(context, StatusCodes.Status403Forbidden, refusal);
            return;
        }
        if (!whole.EndsWith(rest, StringComparison.Ordinal))
        {
            await TapirExchange.RefuseAsync(context, StatusCodes.Status404NotFound, "no such resource");
            return;
        }
        byte[]? body = await TapirExchange.ReadBodyAsync(context);

        if (body == null)
        {
            await TapirExchange.RefuseAsync(context, StatusCodes.Status413PayloadTooLarge, "the body is too long");
            return;
        }
        string root = context.Request.PathBase.ToUriComponent() + new PathString(whole[..^rest.Length].TrimEnd('/')).ToUriComponent();

        if (node != null && await node.IsThereAsync(context.RequestAborted))
            await node.AnswerAsync(context, root, "/" + rest, body);
        else
            await agent.AnswerAsync(context, root, "/" + rest, body);
    }

    /// <summary>The authorization middleware has admitted the caller: without it, no such endpoint is called.</summary>
    private static bool IsAuthorized(HttpContext context)
    {
        EndpointMetadataCollection? metadata = context.GetEndpoint()?.Metadata;

        return metadata?.GetMetadata<IAuthorizeData>() != null && metadata.GetMetadata<IAllowAnonymous>() == null;
    }

    /// <summary>Null, or why a caller is refused whom nobody has authorized.</summary>
    private static string? JudgeCaller(HttpContext context)
    {
        const string remedy = "call RequireAuthorization() on what MapTapir returns, or set AllowRemote";
        IPAddress? from = context.Connection.RemoteIpAddress;
        string host = context.Request.Host.Host;

        if (from is { IsIPv4MappedToIPv6: true })
            from = from.MapToIPv4();
        if (from == null || !IPAddress.IsLoopback(from))
            return $"only callers from loopback are answered: {remedy}";
        if (new[] { "Forwarded", "X-Forwarded-For", "X-Real-IP", "Via" }.Any(context.Request.Headers.ContainsKey))
            return $"the request came through a proxy: {remedy}";
        // Any other name may have been made to lead here, by a page that runs in this machine's browser.
        if (!host.Equals("localhost", StringComparison.OrdinalIgnoreCase) && !IPAddress.TryParse(host, out _))
            return "Host: not localhost or an address";
        return null;
    }
}
